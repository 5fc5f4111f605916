package naming

import "strings"

// Nearest returns the candidate that a mistyped word most likely stands for,
// or "" when none is near.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", max(1, min(len(word)/3, 3))+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean is the end of a message about an unknown word: a guess, or all
// that there is.
func DidYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return `; did you mean "` + near + `"?`
	}
	return "; there are " + strings.Join(candidates, ", ")
}

// distance counts the letters to insert, remove, replace or swap with their
// neighbour that make a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before, last []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row = last, row, make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}

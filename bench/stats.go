package main

import "slices"

// spread3 is a median with the least and the largest value.
type spread3 struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) spread3 {
	if len(values) == 0 {
		return spread3{}
	}
	s := slices.Sorted(slices.Values(values))
	return spread3{quantile(s, 0.5), s[0], s[len(s)-1]}
}

// quantile of sorted values, between two of them in proportion.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

package ledger

import "iter"

// jobList is a set of jobs. It links the jobs themselves: each job of a worker
// goes in and out once.
type jobList struct {
	first *Job
	size  int
}

func (l *jobList) add(j *Job) {
	j.next = l.first
	if l.first != nil {
		l.first.prev = j
	}
	l.first = j
	j.listed = true
	l.size++
}

// remove takes out a job, if it is in the list.
func (l *jobList) remove(j *Job) {
	if !j.listed {
		return
	}
	if j.prev != nil {
		j.prev.next = j.next
	} else {
		l.first = j.next
	}
	if j.next != nil {
		j.next.prev = j.prev
	}
	j.prev, j.next, j.listed = nil, nil, false
	l.size--
}

// all iterates over the jobs. The loop may remove the job it is at, and must
// then end.
func (l *jobList) all() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for j := l.first; j != nil; j = j.next {
			if !yield(j) {
				return
			}
		}
	}
}

package bullmq

import "iter"

// jobList is a set of jobs. It links the jobs themselves: each job of a worker
// goes in and out once.
type jobList struct {
	first *ActiveJob
	size  int
}

func (l *jobList) add(j *ActiveJob) {
	j.next = l.first
	if l.first != nil {
		l.first.prev = j
	}
	l.first = j
	j.listed = true
	l.size++
}

// remove takes out a job, if it is in the list.
func (l *jobList) remove(j *ActiveJob) {
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

// all are the jobs; the loop may remove the one it is at and must then end.
func (l *jobList) all() iter.Seq[*ActiveJob] {
	return func(yield func(*ActiveJob) bool) {
		for j := l.first; j != nil; j = j.next {
			if !yield(j) {
				return
			}
		}
	}
}

package interop

// listCalls are the states that have calls of their own.
var listCalls = []string{"Waiting", "WaitingChildren", "Active", "Delayed", "Prioritized", "Completed", "Failed"}

// read asks for something that both sides must read alike.
func (g *generator) read() call {
	q := g.queue()
	switch g.r.IntN(6) {
	case 0:
		return g.list(q)
	case 1:
		return g.count(q)
	case 2:
		return g.setting(q)
	case 3:
		return g.schedules(q)
	}
	if parent, _, ok := g.relatives(); ok && g.chance(2) {
		return g.family(parent)
	}
	return g.single()
}

// list reads jobs, or their ids, of one or two states.
func (g *generator) list(q string) call {
	page := Args{"queue": q, "start": g.r.IntN(3), "end": pick(g, -1, 0, 2, 5)}
	if g.chance(3) {
		return call{"queue.get" + pick(g, listCalls...), page}
	}
	page["types"], page["asc"] = []string{pick(g, allStates...)}, g.chance(2)
	if g.chance(3) {
		page["types"] = []string{pick(g, allStates...), pick(g, allStates...)}
	}
	return call{pick(g, "queue.getRanges", "queue.getJobs"), page}
}

func (g *generator) count(q string) call {
	switch g.r.IntN(7) {
	case 0:
		return call{"queue.getJobCounts", Args{"queue": q}}
	case 1:
		return call{"queue.getCountsPerPriority", Args{"queue": q, "priorities": []int{0, 1, 2, 3, 5}}}
	case 2:
		return call{"queue.getMetrics", Args{"queue": q, "type": pick(g, "completed", "failed")}}
	case 3:
		return call{"queue.getDelayedCount", Args{"queue": q, "timestamp": g.w.clock + int64(pick(g, 0, 1, 700, 5000))}}
	case 4:
		return call{"queue.getJobCountByTypes", Args{"queue": q, "types": []string{pick(g, allStates...), pick(g, allStates...)}}}
	case 5:
		return call{"queue.exportPrometheusMetrics", Args{"queue": q, "labels": Args{"env": "a\"b"}}}
	}
	return call{"queue.get" + pick(g, "Waiting", "WaitingChildren", "Active", "Prioritized", "Completed", "Failed") + "Count", Args{"queue": q}}
}

func (g *generator) setting(q string) call {
	switch g.r.IntN(3) {
	case 0:
		return call{"queue.getDeduplicationJobId", Args{"queue": q, "dedupId": pick(g, dedupIDs...)}}
	case 1:
		return call{"queue.getRateLimitTtl", Args{"queue": q, "maxJobs": g.r.IntN(4) + 1}}
	}
	return call{
		pick(g, "queue.getMeta", "queue.isPaused", "queue.getRateLimitTtl", "queue.count", "queue.getGlobalConcurrency", "queue.getGlobalRateLimit"),
		Args{"queue": q},
	}
}

func (g *generator) schedules(q string) call {
	switch g.r.IntN(3) {
	case 0:
		return call{"scheduler.count", Args{"queue": q}}
	case 1:
		return call{"scheduler.list", Args{"queue": q, "start": g.r.IntN(2), "end": pick(g, -1, 0, 1), "asc": true}}
	}
	return call{"scheduler.get", Args{"queue": q, "id": pick(g, scheduleIDs...)}}
}

// family reads what a job knows of its children.
func (g *generator) family(parent Args) call {
	if g.chance(3) {
		parent["depth"], parent["maxChildren"] = g.r.IntN(3)+1, 50
		return call{"flow.getFlow", parent}
	}
	return call{pick(g, "job.getDependencies", "job.getDependenciesCount", "job.getChildrenValues", "job.getIgnoredChildrenFailures"), parent}
}

// single reads one job.
func (g *generator) single() call {
	op := pick(g, "queue.getJob", "queue.getJobState", "queue.getJobLogs", "job.getState",
		pick(g, "job.isCompleted", "job.isFailed", "job.isDelayed", "job.isWaiting", "job.isActive", "job.isWaitingChildren"))
	if op == "queue.getJobLogs" && g.chance(2) {
		return g.about(op, Args{"start": g.r.IntN(2), "end": pick(g, -1, 0, 1), "asc": g.chance(2)}, allStates...)
	}
	return g.about(op, nil, allStates...)
}

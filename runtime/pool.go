package bullmq

import "sync"

// pool is the slots that the workers of a Server share. Each has a share by
// its weight, which it gets as soon as slots are free, and may borrow what
// others do not ask for.
type pool struct {
	mu      sync.Mutex
	slots   int
	used    int
	weights int // of all members
	members []*poolMember
}

// poolMember is a worker in a pool.
type poolMember struct {
	pool   *pool
	pump   *pump
	weight int
	used   int
	hungry bool // asked for more slots than it got, and has jobs for them as far as it knows
}

func (p *pool) add(pump *pump, weight int) *poolMember {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := &poolMember{pool: p, pump: pump, weight: weight}
	p.members = append(p.members, m)
	p.weights += weight
	return m
}

// share is how many slots a member is never kept from by what others borrow next.
func (m *poolMember) share() int {
	return max(1, m.pool.slots*m.weight/m.pool.weights)
}

// room is how many slots the member may take now, up to want.
func (m *poolMember) room(want int) int {
	if m == nil {
		return want
	}
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return m.available(want)
}

// reserve takes up to want slots.
func (m *poolMember) reserve(want int) int {
	if m == nil {
		return want
	}
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	n := m.available(want)
	m.used += n
	m.pool.used += n
	m.hungry = n < want
	return n
}

// sated says that the member found no more jobs.
func (m *poolMember) sated() {
	if m == nil {
		return
	}
	m.pool.mu.Lock()
	m.hungry = false
	m.pool.mu.Unlock()
}

// available leaves to others what they ask for and what is in their share.
func (m *poolMember) available(want int) int {
	free := m.pool.slots - m.pool.used
	own := m.share() - m.used
	if want <= own {
		return max(0, min(want, free))
	}
	for _, other := range m.pool.members {
		if other != m && other.hungry {
			free -= max(0, other.share()-other.used)
		}
	}
	return max(0, min(want, max(free, min(own, m.pool.slots-m.pool.used))))
}

// release gives slots back and lets others look for work with them.
func (m *poolMember) release(n int) {
	if m == nil || n == 0 {
		return
	}
	m.pool.mu.Lock()
	m.used -= n
	m.pool.used -= n
	var others []*pump
	for _, other := range m.pool.members {
		if other != m {
			others = append(others, other.pump)
		}
	}
	m.pool.mu.Unlock()
	for _, p := range others {
		p.poke()
	}
}

package ledger

import "sync"

// Pool is capacity that several workers share. Each has a share by its weight,
// which it gets as soon as capacity is free, and may borrow what others do not
// ask for.
type Pool struct {
	mu       sync.Mutex
	capacity int
	used     int
	weights  int // of all members
	members  []*Member
}

// NewPool returns a pool with room for n handlers at once.
func NewPool(n int) *Pool { return &Pool{capacity: n} }

// Capacity returns how many handlers may run at once.
func (p *Pool) Capacity() int { return p.capacity }

// Member is a worker in a pool.
type Member struct {
	pool   *Pool
	ledger *Ledger
	weight int
	used   int
	hungry bool // asked for more than it got, and has jobs for it as far as it knows
}

// Join makes a ledger use the capacity of a pool. It is called before the worker
// starts, and reports false for a ledger that is in a pool already.
func (p *Pool) Join(l *Ledger, weight int) bool {
	if l.member != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l.member = &Member{pool: p, ledger: l, weight: weight}
	p.members = append(p.members, l.member)
	p.weights += weight
	return true
}

// isHungry reports whether the member asked for more capacity than it got.
func (m *Member) isHungry() bool {
	if m == nil {
		return false
	}
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return m.hungry
}

// share returns how much capacity a member gets as soon as it is free, whatever
// others would borrow.
func (m *Member) share() int {
	return max(1, m.pool.capacity*m.weight/m.pool.weights)
}

// room returns how much capacity the member could reserve now, at most want.
func (m *Member) room(want int) int {
	if m == nil {
		return want
	}
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return m.availableLocked(want)
}

// reserve takes capacity, at most want, and returns how much it took.
func (m *Member) reserve(want int) int {
	if m == nil {
		return want
	}
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	n := m.availableLocked(want)
	m.used += n
	m.pool.used += n
	m.hungry = n < want
	return n
}

// sated records that the member found no more jobs.
func (m *Member) sated() {
	if m == nil {
		return
	}
	m.pool.mu.Lock()
	m.hungry = false
	m.pool.mu.Unlock()
}

// availableLocked returns what the member may take. What hungry members lack to
// their shares is left to them.
func (m *Member) availableLocked(want int) int {
	free := m.pool.capacity - m.pool.used
	own := m.share() - m.used
	if want <= own {
		return max(0, min(want, free))
	}
	for _, other := range m.pool.members {
		if other != m && other.hungry {
			free -= max(0, other.share()-other.used)
		}
	}
	return max(0, min(want, max(free, min(own, m.pool.capacity-m.pool.used))))
}

// release gives capacity back, and lets other members look for work.
func (m *Member) release(n int) {
	if m == nil || n == 0 {
		return
	}
	m.pool.mu.Lock()
	m.used -= n
	m.pool.used -= n
	var others []*Ledger
	for _, other := range m.pool.members {
		if other != m {
			others = append(others, other.ledger)
		}
	}
	m.pool.mu.Unlock()
	for _, l := range others {
		l.Wake()
	}
}

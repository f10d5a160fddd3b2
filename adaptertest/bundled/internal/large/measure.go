package large

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A Row is one measurement of a store: the figure of the adapter, and the figure of the same work by hand.
type Row struct {
	Store, What, Adapter, Hand string
	// Of is the adapter's figure divided by the figure of the work by hand. It is "" if the second does not exist.
	Of string
}

const (
	// pairs is how many calls of a method are measured, each beside a call of the hand-written code. If they take longer
	// than pairsTime together, fewer are measured.
	pairs       = 2000
	fewestPairs = 20
	pairsTime   = 10 * time.Second
	// callers is the number of concurrent callers when throughput is measured. It is measured in slices of time. Slices of
	// the adapter and of the hand-written code alternate, so that other work on the machine slows both down alike.
	callers    = 16
	slicePairs = 30
)

// Options sets the size of the measurements.
type Options struct {
	// Users is the number of users, each with a session; it is at least a thousand.
	Users int
	// Usual is how long usual calls are measured; 0 means three seconds. A slice for the throughput takes a twentieth of
	// this time.
	Usual time.Duration
}

// Measure fills the store and measures. It calls show for each row as soon as the row is measured.
func Measure(ctx context.Context, s *Store, o Options, show func(Row)) error {
	if o.Usual == 0 {
		o.Usual = 3 * time.Second
	}
	m := &measurement{Store: s, Records: &Records{Start: time.Now()}, n: o.Users, usual: o.Usual, show: show}
	for _, step := range []func(context.Context) error{m.fill, m.alone, m.together, m.sweep, m.deleteUser} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("large: %s: %w", s.Name, err)
		}
	}
	return nil
}

type measurement struct {
	*Store
	*Records
	n     int
	usual time.Duration
	show  func(Row)
	made  atomic.Int64 // sessions that were created by measured calls
}

func (m *measurement) row(what, adapter, hand, of string) {
	m.show(Row{Store: m.Name, What: what, Adapter: adapter, Hand: hand, Of: of})
}

func (m *measurement) fill(ctx context.Context) error {
	before, err := m.Size(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := m.AddUsers(ctx, m.Records, 0, m.n); err != nil {
		return err
	}
	took := time.Since(start)
	after, err := m.Size(ctx)
	m.row("bytes for a user with a session", fmt.Sprint((after-before)/int64(m.n)), "", "")
	m.row("time to fill", took.Round(time.Millisecond).String(), "", "")
	return err
}

// An operation is a call of the adapter, or of the hand-written code that does the same.
type operation func(ctx context.Context, by Hand) error

// sides are the adapter and the hand-written code.
func (m *measurement) sides() [2]Hand { return [2]Hand{m.Adapter, m.Hand} }

var errAbsent = errors.New("a stored record was not found")

// found returns an error if a record that should be found is absent, or if a record that should be absent is found.
func found[T any](record *T, err error, want bool) error {
	if err == nil && (record != nil) != want {
		return errAbsent
	}
	return err
}

func (m *measurement) getSession(token string, want bool) operation {
	return func(ctx context.Context, by Hand) error {
		r, err := by.GetSessionAndUser(ctx, token)
		return found(r, err, want)
	}
}

func (m *measurement) getUser(email string, want bool) operation {
	return func(ctx context.Context, by Hand) error {
		u, err := by.GetUserByEmail(ctx, email)
		return found(u, err, want)
	}
}

func (m *measurement) createSession(n int) operation {
	return func(ctx context.Context, by Hand) error {
		token := fmt.Sprint("made-", m.made.Add(1))
		_, err := by.CreateSession(ctx, adapter.Session{SessionToken: token, UserID: m.id(n), Expires: m.Start.Add(30 * day)})
		return err
	}
}

func (m *measurement) updateUser(n int) operation {
	change := adapter.UserUpdate{ID: m.id(n), Name: adapter.To(new(fmt.Sprint("Name ", rand.Uint32())))}
	return func(ctx context.Context, by Hand) error {
		_, err := by.UpdateUser(ctx, change)
		return err
	}
}

// alone measures methods with one caller.
func (m *measurement) alone(ctx context.Context) error {
	sides := m.sides()
	for _, method := range []struct {
		what string
		of   func(n int) operation
	}{
		{"`GetSessionAndUser`", func(n int) operation { return m.getSession(m.token(n), true) }},
		{"`GetSessionAndUser`, absent", func(n int) operation { return m.getSession("absent-"+m.token(n), false) }},
		{"`GetUserByEmail`", func(n int) operation { return m.getUser(m.email(n), true) }},
		{"`GetUserByEmail`, absent", func(n int) operation { return m.getUser("absent."+m.email(n), false) }},
		{"`CreateSession`", m.createSession},
		{"`UpdateUser`", m.updateUser},
	} {
		var took [2][]time.Duration
		for end := time.Now().Add(pairsTime); len(took[0]) < pairs && (len(took[0]) < fewestPairs || time.Now().Before(end)); {
			call := method.of(rand.IntN(m.n))
			first := len(took[0]) % 2
			for _, which := range []int{first, 1 - first} {
				start := time.Now()
				if err := call(ctx, sides[which]); err != nil {
					return fmt.Errorf("%s: %w", method.what, err)
				}
				took[which] = append(took[which], time.Since(start))
			}
		}
		a, h := percentile(took[0], 50), percentile(took[1], 50)
		m.row(method.what+", median", short(a), short(h), ratio(float64(a), float64(h)))
	}
	return nil
}

// together measures the throughput of several callers.
func (m *measurement) together(ctx context.Context) error {
	sides := m.sides()
	for _, method := range []struct {
		what string
		of   func(n int) operation
	}{
		{"`GetSessionAndUser`", func(n int) operation { return m.getSession(m.token(n), true) }},
		{"`CreateSession`", m.createSession},
	} {
		var done [2][]float64 // calls in each slice
		var of []float64
		for pair := range slicePairs {
			for _, which := range []int{pair % 2, 1 - pair%2} {
				n, err := m.slice(ctx, func(ctx context.Context) error { return method.of(rand.IntN(m.n))(ctx, sides[which]) })
				if err != nil {
					return fmt.Errorf("%s by %d callers: %w", method.what, callers, err)
				}
				done[which] = append(done[which], float64(n))
			}
			of = append(of, done[0][pair]/done[1][pair])
		}
		perSecond := func(n []float64) string { return fmt.Sprintf("%.0f/s", median(n)/m.sliceTime().Seconds()) }
		m.row(fmt.Sprintf("%s, %d callers, median of %d slices", method.what, callers, slicePairs), perSecond(done[0]), perSecond(done[1]), fmt.Sprintf("%.2f", median(of)))
	}
	return nil
}

func (m *measurement) sliceTime() time.Duration { return m.usual / 20 }

// slice runs all callers for one slice of time, and returns how many calls they made.
func (m *measurement) slice(ctx context.Context, call func(ctx context.Context) error) (int64, error) {
	var calls atomic.Int64
	errs := make([]error, callers)
	end := time.Now().Add(m.sliceTime())
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for first := true; (first || time.Now().Before(end)) && errs[i] == nil; first = false {
				errs[i] = call(ctx)
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	return calls.Load(), errors.Join(errs...)
}

// sweep measures a sweep of a tenth of the sessions, and how much it slows down other calls.
func (m *measurement) sweep(ctx context.Context) error {
	err := m.meanwhile(ctx, "sweep of a tenth",
		func(ctx context.Context) error {
			swept, err := m.Adapter.DeleteExpired(ctx, m.Start.Add(afterFirst))
			if want := int64((m.n + 9) / 10); err == nil && swept.Sessions != want {
				err = fmt.Errorf("%d sessions were deleted, not %d", swept.Sessions, want)
			}
			return err
		},
		func(ctx context.Context) error {
			_, err := m.Hand.DeleteExpired(ctx, m.Start.Add(afterSecond))
			return err
		})
	if err != nil {
		return err
	}
	gone, err := m.Hand.GetSessionAndUser(ctx, m.token(0))
	if err == nil && gone != nil {
		err = errors.New("an expired session still exists after the sweep")
	}
	return err
}

// deleteUser measures the deletion of a user who has three tenths as many sessions as there are users.
func (m *measurement) deleteUser(ctx context.Context) error {
	many := 3 * m.n / 10
	u, err := m.Adapter.CreateUser(ctx, adapter.User{Name: new("Somebody Else")})
	if err != nil {
		return err
	}
	if err := m.AddSessions(ctx, m.Records, u.ID, many); err != nil {
		return err
	}
	return m.meanwhile(ctx, fmt.Sprintf("deletion of a user with %d sessions", many), func(ctx context.Context) error {
		_, err := m.Adapter.DeleteUser(ctx, u.ID)
		return err
	}, nil)
}

// meanwhile measures how long some work takes, and how long other calls take before it and during it. The other calls
// always use the adapter.
func (m *measurement) meanwhile(ctx context.Context, what string, byAdapter, byHand func(ctx context.Context) error) error {
	usual, err := m.crowd(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(m.usual):
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	crowds := []*crowd{nil, new(crowd)}
	for i, do := range []func(context.Context) error{byAdapter, byHand} {
		if do == nil {
			continue
		}
		if crowds[i], err = m.crowd(ctx, do); err != nil {
			return err
		}
	}
	a, h := crowds[0], crowds[1]
	times := ""
	if h.lasted > 0 {
		times = ratio(float64(a.lasted), float64(h.lasted))
	}
	m.row(what, short(a.lasted), short(h.lasted), times)
	for kind, name := range crowdKinds {
		m.row(fmt.Sprintf("… others' %s meanwhile, p99, longest (usually %s)", name, usual.said(kind)), a.said(kind), h.said(kind), "")
	}
	return nil
}

// crowdKinds are the kinds of the other calls.
var crowdKinds = []string{"reads", "writes"}

// A crowd is how long other calls took during some work.
type crowd struct {
	lasted time.Duration
	took   [2][]time.Duration // reads and writes
}

// said returns the 99th percentile of a kind, and its longest call.
func (c *crowd) said(kind int) string {
	if len(c.took[kind]) == 0 {
		return ""
	}
	return short(percentile(c.took[kind], 99)) + ", " + short(percentile(c.took[kind], 100))
}

// crowd runs two readers and a writer while do runs. Each of them rests for a millisecond after each call.
func (m *measurement) crowd(ctx context.Context, do func(ctx context.Context) error) (*crowd, error) {
	const people = 3
	took, errs := make([][]time.Duration, people), make([]error, people)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range people {
		wg.Go(func() {
			rest := time.NewTimer(0)
			defer rest.Stop()
			for {
				select {
				case <-stop:
					return
				case <-rest.C:
				}
				n := rand.IntN(m.n/10)*10 + 9 // the session of this user stays
				call := m.getSession(m.token(n), true)
				if i == people-1 {
					call = m.createSession(n)
				}
				start := time.Now()
				if errs[i] = call(ctx, m.Adapter); errs[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(start))
				rest.Reset(time.Millisecond)
			}
		})
	}
	start := time.Now()
	err := do(ctx)
	c := &crowd{lasted: time.Since(start)}
	close(stop)
	wg.Wait()
	for i := range people {
		kind := 0
		if i == people-1 {
			kind = 1
		}
		c.took[kind] = append(c.took[kind], took[i]...)
	}
	return c, errors.Join(append(errs, err)...)
}

func median(n []float64) float64 {
	slices.Sort(n)
	return n[len(n)/2]
}

// percentile returns the p-th percentile; 100 is the longest.
func percentile(took []time.Duration, p int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(len(took)*p/100, len(took)-1)]
}

// short writes a duration with about three digits.
func short(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Millisecond:
		return d.Round(100 * time.Nanosecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.Round(10 * time.Millisecond).String()
	}
}

func ratio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

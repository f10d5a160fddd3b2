package large

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// inParallel calls do for each number from from to to-1, with several calls at a time.
func inParallel(ctx context.Context, from, to int, do func(ctx context.Context, n int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	const callers = 32
	next := atomic.Int64{}
	next.Store(int64(from))
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for n := int(next.Add(1)) - 1; n < to && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				if err := do(ctx, n); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// byAdapter stores all records through the adapter, which assigns the IDs of users.
func (s *Store) byAdapter() {
	s.AddUsers = func(ctx context.Context, r *Records, from, to int) error {
		r.ids = append(r.ids, make([]string, to-len(r.ids))...)
		return inParallel(ctx, from, to, func(ctx context.Context, n int) error {
			u, err := s.Adapter.CreateUser(ctx, adapter.User{Name: new("Somebody Else"), Email: r.email(n)})
			if err != nil {
				return err
			}
			r.ids[n] = u.ID
			_, err = s.Adapter.CreateSession(ctx, adapter.Session{SessionToken: r.token(n), UserID: u.ID, Expires: r.expires(n)})
			return err
		})
	}
	s.AddSessions = func(ctx context.Context, r *Records, userID string, n int) error {
		return inParallel(ctx, 0, n, func(ctx context.Context, n int) error {
			_, err := s.Adapter.CreateSession(ctx, adapter.Session{SessionToken: "many-" + r.token(n), UserID: userID, Expires: r.Start.Add(30 * day)})
			return err
		})
	}
}

// inBatches divides the numbers from from to to-1 into ranges, and calls do for each range.
func inBatches(from, to int, do func(from, to int) error) error {
	const batch = 5000
	for ; from < to; from += batch {
		if err := do(from, min(from+batch, to)); err != nil {
			return err
		}
	}
	return nil
}

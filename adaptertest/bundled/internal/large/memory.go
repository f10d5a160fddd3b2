package large

import (
	"context"
	"runtime"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adapters/memory/memorytest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func openMemory() *Store {
	size := func(context.Context) (int64, error) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc), nil
	}
	a := memory.New()
	s := &Store{Name: "memory", Server: "memory", Adapter: a, Size: size}
	s.byAdapter()
	byAdapter := s.AddUsers
	hand := memorytest.NewBaseline()
	s.Hand = hand
	var beside int64 // bytes in the maps of the hand-written code
	s.AddUsers = func(ctx context.Context, r *Records, from, to int) error {
		if err := byAdapter(ctx, r, from, to); err != nil {
			return err
		}
		before, _ := size(ctx)
		for n := from; n < to; n++ {
			u := adapter.User{ID: r.id(n), Name: new("Somebody Else"), Email: r.email(n)}
			hand.Add(u, adapter.Session{SessionToken: r.token(n), UserID: u.ID, Expires: r.expires(n)})
		}
		after, _ := size(ctx)
		beside += after - before
		return nil
	}
	s.Size = func(ctx context.Context) (int64, error) {
		all, err := size(ctx)
		return all - beside, err
	}
	return s
}

package remote

import (
	"context"
	"fmt"
	"runtime/pprof"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/goroutines"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// label is the profiler label of the goroutines that serve a handle. A goroutine has the labels
// of the one that started it, so it is also on those that the adapter starts.
const label = "adaptertest-handle"

// labelled answers a request. If the adapter serves it, the goroutine has the label of the handle,
// which is a new one for open.
func (s *server) labelled(ctx context.Context, r *request) (result any, err error) {
	if r.Call == "open" {
		s.mu.Lock()
		s.last++
		r.Handle = s.last
		s.mu.Unlock()
	}
	if r.Handle == 0 || r.Call == Stats {
		return s.answer(ctx, *r)
	}
	pprof.Do(ctx, pprof.Labels(label, s.labelOf(r.Handle)), func(ctx context.Context) { result, err = s.answer(ctx, *r) })
	return result, err
}

// labelOf is the value of the label. A process may have several servers.
func (s *server) labelOf(handle int64) string { return fmt.Sprintf("%p/%d", s, handle) }

// usage answers stats.
func (s *server) usage(a adapter.Adapter, handle int64) (Usage, error) {
	u, err := s.program.Stats(a)
	u.Tasks, _ = goroutines.With(label, s.labelOf(handle))
	return u, err
}

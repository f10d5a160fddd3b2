package frameworks

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/recent"
)

// maxLazy is the largest number of compiled configurations of an integration.
const maxLazy = 1000

// LazyConfig is a configuration that depends on the request; see Lazy.
type LazyConfig struct {
	key    func(*http.Request) string
	config func(*http.Request) (auth.Config, error)
}

// Lazy returns a configuration that depends on the request. It is for an
// application with many tenants, or one that learns its settings late. key
// names the configuration that a request needs, such as its tenant. config
// makes the configuration at the first request with the key. Configurations
// hold functions and can't be compared, so config must depend only on the parts
// of the request that key reads. Two requests with one key share one
// configuration; two with different keys never do.
//
// A configuration is compiled once for its key, however many requests wait for
// it. The 1,000 configurations that were used last are kept. One that fails is
// not kept: the request gets the error, and the next request tries again. If a
// client can choose any key, for example by the Host header, config should
// check it and return an error for an unknown tenant.
func Lazy(key func(*http.Request) string, config func(*http.Request) (auth.Config, error)) *LazyConfig {
	return &LazyConfig{key, config}
}

// lazyHandlers holds the compiled configurations by key.
type lazyHandlers struct {
	source   *LazyConfig
	complete func(*auth.Config) error

	mu    sync.Mutex
	known recent.Map[string, *lazyHandler]
	// compiling are the configurations that are being compiled. They displace no
	// other until they are there: a key that no configuration has costs nobody
	// theirs.
	compiling map[string]*lazyHandler
}

type lazyHandler struct {
	key     string
	done    chan struct{} // closed when handler and err are there
	handler *auth.Handler
	err     error
}

func (l *lazyHandlers) handler(r *http.Request) (*auth.Handler, error) {
	entry, mine := l.entry(l.source.key(r))
	if !mine {
		select {
		case <-entry.done:
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
		if entry.err != nil { // it was another request's
			return l.handler(r)
		}
		return entry.handler, nil
	}
	defer l.finish(entry) // also if a function of the application panics
	entry.err = errors.New("the configuration was not compiled")
	entry.handler, entry.err = l.compiled(r)
	return entry.handler, entry.err
}

// entry returns the entry of a key, and whether the caller is to compile it.
func (l *lazyHandlers) entry(key string) (entry *lazyHandler, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry, ok := l.known.Peek(key); ok {
		return l.known.Get(key, func() *lazyHandler { return entry }), false // it is used once more
	}
	if entry, ok := l.compiling[key]; ok {
		return entry, false
	}
	entry = &lazyHandler{key: key, done: make(chan struct{})}
	l.compiling[key] = entry
	return entry, true
}

// finish keeps an entry that was compiled. If there are then more than maxLazy,
// it removes the least recently used one. An entry that failed is not kept.
func (l *lazyHandlers) finish(entry *lazyHandler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.compiling, entry.key)
	close(entry.done)
	if entry.err == nil {
		l.known.Get(entry.key, func() *lazyHandler { return entry })
	}
}

func (l *lazyHandlers) compiled(r *http.Request) (*auth.Handler, error) {
	config, err := l.source.config(r)
	if err != nil {
		return nil, err
	}
	if err := l.complete(&config); err != nil {
		return nil, err
	}
	h, err := auth.New(config)
	if err != nil {
		return nil, errors.Join(errors.New("the function config returned a configuration that can't be used"), err)
	}
	return h, nil
}

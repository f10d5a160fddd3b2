package frameworks

import (
	"container/list"
	"errors"
	"net/http"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth"
)

// maxLazy is how many compiled configurations an integration keeps.
const maxLazy = 1000

// LazyConfig is a configuration that depends on the request; see Lazy.
type LazyConfig struct {
	key    func(*http.Request) string
	config func(*http.Request) (auth.Config, error)
}

// Lazy is a configuration that depends on the request, for an application with
// many tenants or one that learns its settings late. Key names the
// configuration that a request is for, such as its tenant; config makes it, on
// the first request with the key. It must depend on nothing but what key looks
// at, because configurations hold functions and can't be compared: two requests
// with one key get one configuration, two with different keys never do.
//
// A configuration is compiled once for its key, however many requests wait for
// it, and the 1,000 that were used last are kept. One that fails is not kept:
// the request gets the error, the next one tries again. A key that anybody can
// make up, such as any Host header, should be checked by config, which returns
// an error for tenants that there are not.
func Lazy(key func(*http.Request) string, config func(*http.Request) (auth.Config, error)) *LazyConfig {
	return &LazyConfig{key, config}
}

// lazyHandlers are the compiled configurations by key.
type lazyHandlers struct {
	source   *LazyConfig
	complete func(*auth.Config) error

	mu    sync.Mutex
	known map[string]*lazyHandler
	used  list.List // of *lazyHandler, the last used first
}

type lazyHandler struct {
	key     string
	at      *list.Element
	compile sync.Mutex // held while it is being compiled
	handler *auth.Handler
}

func (l *lazyHandlers) handler(r *http.Request) (*auth.Handler, error) {
	entry := l.entry(l.source.key(r))
	entry.compile.Lock()
	defer entry.compile.Unlock()
	if entry.handler != nil {
		return entry.handler, nil
	}
	h, err := l.compiled(r)
	if err != nil {
		l.forget(entry)
		return nil, err
	}
	entry.handler = h
	return h, nil
}

// entry is the place of a key. Beyond maxLazy the one that was not used for
// longest goes.
func (l *lazyHandlers) entry(key string) *lazyHandler {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry, ok := l.known[key]; ok {
		l.used.MoveToFront(entry.at)
		return entry
	}
	entry := &lazyHandler{key: key}
	entry.at = l.used.PushFront(entry)
	l.known[key] = entry
	if len(l.known) > maxLazy {
		oldest := l.used.Remove(l.used.Back()).(*lazyHandler) //nolint:forcetypeassert // nothing else is in the list
		delete(l.known, oldest.key)
	}
	return entry
}

func (l *lazyHandlers) forget(entry *lazyHandler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[entry.key] == entry {
		l.used.Remove(entry.at)
		delete(l.known, entry.key)
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
		return nil, errors.Join(errors.New("the configuration that config returned can't be used"), err)
	}
	return h, nil
}

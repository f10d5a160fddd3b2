package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// mostFaults is the number of faults after which the program is not started again.
const mostFaults = 3

// Pool starts processes of a program. All first handles of stores are in one process;
// the second handle of a store is in another, unless the program opens it in the same one.
// A process that fails is replaced, until the program has failed three times.
type Pool struct {
	// Command returns the command that starts the program. Its standard input and output
	// must not be set.
	Command func() *exec.Cmd
	// Target is the address of the store, "host:port", or empty. A program with the
	// feature address then connects through a fault.Proxy.
	Target string
	// Silence is how long a process may say nothing while calls are under way, before it is
	// asked with ping, and then as long again. It has three times as long to answer hello.
	// Zero means ten seconds.
	Silence time.Duration
	// Explicit, if not nil, says in which clauses updateUser gets no condition, and gets the proof that another
	// address clears, for a program whose contract has neither.
	Explicit func(clause string) bool

	starting sync.Mutex
	mu       sync.Mutex
	places   []*process // nil where a process is to be started
	every    []*process
	faults   []*Fault
	serial   int
	last     opened // of the last handle that was opened
	prefix   string
	// proxies are those of the handles, and seconds the places of the last further handles.
	proxies map[adapter.Adapter]*fault.Proxy
	seconds map[string]int
	// updates are those of the stores, one for all handles of a store.
	updates map[string]*explicit
}

// process is one process of the program.
type process struct {
	*link
	command *exec.Cmd
	ended   chan struct{}
	errors  *tail
}

// Start starts the first process and returns what the program says of itself.
func (p *Pool) Start(ctx context.Context) (Hello, error) {
	l, err := p.process(ctx, 0)
	if err != nil {
		return Hello{}, err
	}
	return l.hello, nil
}

// process returns the process of the place, which it starts if it has none.
func (p *Pool) process(ctx context.Context, place int) (*process, error) {
	p.starting.Lock()
	defer p.starting.Unlock()
	p.mu.Lock()
	for len(p.places) <= place {
		p.places = append(p.places, nil)
	}
	there, faults := p.places[place], p.faults
	p.mu.Unlock()
	if there != nil {
		return there, nil
	}
	if len(faults) >= mostFaults {
		last := faults[len(faults)-1].text
		return nil, &Fault{fmt.Sprintf("the program failed %d times and is not started again; the last time: %s", len(faults), last)}
	}
	started, err := p.start(ctx, place)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if started.why() == nil {
		p.places[place] = started
	}
	p.every = append(p.every, started)
	return started, nil
}

// start starts a process.
func (p *Pool) start(ctx context.Context, place int) (*process, error) {
	made := &process{command: p.Command(), ended: make(chan struct{}), errors: &tail{}}
	made.command.WaitDelay = 5 * time.Second
	if made.command.Stderr == nil {
		made.command.Stderr = made.errors
	} else {
		made.command.Stderr = io.MultiWriter(made.command.Stderr, made.errors)
	}
	in, err := made.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, toUs := io.Pipe()
	made.command.Stdout = toUs
	if err := made.command.Start(); err != nil {
		return nil, p.blame(place, &Fault{"the program does not start: " + err.Error()})
	}
	go func() {
		err := made.command.Wait()
		if err == nil {
			err = errors.New("it exited with status 0")
		}
		close(made.ended)
		_ = toUs.CloseWithError(ended{err})
	}()
	end := func() {
		_ = out.Close() // what the process still writes, nobody reads
		made.finish(in)
	}
	made.link, err = newLink(ctx, out, in, cmp.Or(p.Silence, usualSilence), end, func(f *Fault) {
		<-made.ended
		if said := made.errors.String(); said != "" {
			f.text += "\nits standard error ended with:\n" + said
		}
		_ = p.blame(place, f)
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// ended is the end of a process, as its output has it.
type ended struct{ error }

func (ended) Is(target error) bool { return target == io.EOF }

// finish closes the input of the process, waits a moment and kills it.
func (m *process) finish(in io.Closer) {
	_ = in.Close()
	select {
	case <-m.ended:
	case <-time.After(2 * time.Second):
		_ = m.command.Process.Kill()
		<-m.ended
	}
}

// blame keeps a fault, and frees the place of the process.
func (p *Pool) blame(place int, f *Fault) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	if place < len(p.places) {
		p.places[place] = nil
	}
	return f
}

// Faults returns what went wrong with the program.
func (p *Pool) Faults() []*Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}

// Close ends all processes. Memory is the most memory, in bytes, that a process used,
// or zero where the system does not say it.
func (p *Pool) Close() (memory int64) {
	p.mu.Lock()
	every := p.every
	p.places, p.every = nil, nil
	p.mu.Unlock()
	for _, m := range every {
		m.close()
		<-m.ended
		usage := reflect.Indirect(reflect.ValueOf(m.command.ProcessState.SysUsage()))
		if usage.Kind() == reflect.Struct && usage.FieldByName("Maxrss").IsValid() {
			used := usage.FieldByName("Maxrss").Int()
			if runtime.GOOS != "darwin" { // which counts bytes
				used <<= 10
			}
			memory = max(memory, used)
		}
	}
	return memory
}

// open opens a handle in the process of the place. If the program fails, the handle fails
// each call, and the suite reports the clause as not reached.
func (p *Pool) open(t testing.TB, place int, o Opening) (adapter.Adapter, error) {
	var proxy *fault.Proxy
	if p.Target != "" {
		var err error
		if proxy, err = fault.NewProxy(p.Target); err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = proxy.Close() })
		o.Address = proxy.Addr()
	}
	before := len(p.Faults())
	running, err := p.process(t.Context(), place)
	var h Handle
	if err == nil {
		h, err = open(t.Context(), running.link, o, p.Faults)
	}
	var f *Fault
	switch {
	case errors.As(err, &f):
		h = p.failed(f, before)
	case err != nil:
		return nil, err
	default:
		t.Cleanup(func() { _ = h.client().Close(context.WithoutCancel(t.Context())) })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = h.client().opened
	if p.Explicit != nil && p.Explicit(t.Name()) {
		if p.updates[o.Store] == nil {
			p.updates[o.Store] = &explicit{}
		}
		h.client().explicit = p.updates[o.Store]
	}
	if proxy != nil {
		p.proxies[h] = proxy
	}
	return h, nil
}

// failed returns a handle of a program that does not run. It has the methods of the last one
// that ran.
func (p *Pool) failed(f *Fault, before int) Handle {
	l := &link{fault: f, done: make(chan struct{}), calls: map[int64]chan answer{}, out: io.Discard}
	close(l.done)
	p.mu.Lock()
	defer p.mu.Unlock()
	faults := func() []*Fault { return append(slices.Repeat([]*Fault{nil}, before), f) }
	return &Client{link: l, opened: p.last, faults: faults, since: before}
}

// Harness returns the harness of the suite, with the fields that the features of the
// program set.
func (p *Pool) Harness(hello Hello) (h adaptertest.Harness, err error) {
	p.proxies, p.seconds, p.updates = map[adapter.Adapter]*fault.Proxy{}, map[string]int{}, map[string]*explicit{}
	p.prefix = fmt.Sprintf("adaptertest_%x_", rand.Uint32())
	h.Name, h.Version = hello.Name, hello.Version
	if len(hello.Declarations) > 0 {
		d := json.NewDecoder(strings.NewReader(string(hello.Declarations)))
		d.DisallowUnknownFields()
		if err := d.Decode(&h.Declarations); err != nil {
			return h, fmt.Errorf("the declarations of the program: %w", err)
		}
	}
	switch hello.IDs {
	case "", "uuid":
	case "integer":
		h.NewID = func() string { return strconv.Itoa(1e9 + rand.IntN(1e9)) }
	case "objectid":
		h.NewID = func() string { return fmt.Sprintf("%08x%016x", rand.Uint32(), rand.Uint64()) }
	default:
		return h, fmt.Errorf("the program says that ids are %q, want uuid, integer or objectid", hello.IDs)
	}
	h.New = p.opener(hello, 0)
	h.SharedStore = hello.has(Shared)
	h.Close = func(a adapter.Adapter) error { return a.(Handle).client().Close(context.Background()) }
	if hello.has(Second) || hello.has(Handles) {
		h.Second = p.another(hello)
	}
	if hello.has(Reopen) {
		h.Reopen = p.another(hello)
	}
	if hello.has(Stats) {
		h.Connections = func(a adapter.Adapter) int {
			u, err := a.(Handle).client().Usage(context.Background())
			if err != nil {
				return 0
			}
			return u.Connections
		}
	}
	if hello.has(Namespace) {
		h.Namespace = func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			return p.open(t, 0, Opening{Store: a.(Handle).client().store, Namespace: name})
		}
	}
	if hello.has(Connections) {
		h.Single = p.opener(hello, 1)
	}
	if p.Target != "" && hello.has(Address) {
		h.Faults = func(a adapter.Adapter) fault.Control {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.proxies[a]
		}
		if hello.has(Connections) {
			h.Limited = p.opener(hello, 4)
		}
	}
	return h, nil
}

// opener returns a function that opens a new store.
func (p *Pool) opener(hello Hello, connections int) func(testing.TB) adapter.Adapter {
	return func(t testing.TB) adapter.Adapter {
		p.mu.Lock()
		p.serial++
		store := fmt.Sprint(p.prefix, p.serial)
		p.mu.Unlock()
		if hello.has(Drop) {
			t.Cleanup(func() { p.drop(context.WithoutCancel(t.Context()), store) })
		}
		a, err := p.open(t, 0, Opening{Store: store, Connections: connections})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// drop deletes a store.
func (p *Pool) drop(ctx context.Context, store string) {
	if running, err := p.process(ctx, 0); err == nil {
		_ = running.control(ctx, nil, Drop, 0, store)
	}
}

// another returns a function that opens a further handle of a store.
func (p *Pool) another(hello Hello) func(testing.TB, adapter.Adapter) adapter.Adapter {
	return func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		store, place := a.(Handle).client().store, 0
		if hello.has(Second) {
			p.mu.Lock()
			p.seconds[store] = p.seconds[store]%2 + 1
			place = p.seconds[store]
			p.mu.Unlock()
		}
		other, err := p.open(t, place, Opening{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		return other
	}
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const mostTail = 2000

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-mostTail):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

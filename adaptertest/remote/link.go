package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Fault is something that went wrong with the program, and not with the adapter in it.
type Fault struct{ text string }

func (f *Fault) Error() string { return f.text }

// usualSilence is how long a program may say nothing while calls are under way. It is then
// asked with ping, and has as much time again.
const usualSilence = 10 * time.Second

// starting says how many times as long a program may take to answer hello: it may have to be compiled.
const starting = 3

// mostLine is the most bytes in a line of the program.
const mostLine = 64 << 20

// link is the connection with one process of the program.
type link struct {
	hello   Hello
	silence time.Duration
	started atomic.Bool // the program has answered hello
	end     func()      // ends the process
	blame   func(*Fault)
	done    chan struct{} // closed when the link is broken
	writing sync.Mutex
	out     io.Writer
	heard   atomic.Int64 // when the last line came

	mu    sync.Mutex
	last  int64
	calls map[int64]chan answer
	fault *Fault
	over  bool // the link was closed, and the end of the program is no fault
}

// newLink begins to read the answers of a program, and says hello. Blame is called
// with a fault before the calls under way return.
func newLink(
	ctx context.Context, in io.Reader, out io.Writer, silence time.Duration, end func(), blame func(*Fault),
) (*link, error) {
	l := &link{
		silence: silence, end: end, blame: blame, out: out, done: make(chan struct{}), calls: map[int64]chan answer{},
	}
	l.heard.Store(time.Now().UnixNano())
	go l.read(in)
	go l.watch()
	if err := l.control(ctx, &l.hello, "hello", 0, map[string]int{"protocol": Version}); err != nil {
		return nil, l.broken("it does not answer hello: %v", err)
	}
	if l.hello.Protocol != Version {
		return nil, l.broken("it speaks version %d of the protocol, want %d", l.hello.Protocol, Version)
	}
	l.started.Store(true)
	return l, nil
}

// read reads the answers until the stream ends.
func (l *link) read(in io.Reader) {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines)
		l.heard.Store(time.Now().UnixNano())
		switch {
		case errors.Is(err, io.EOF) && len(line) > 0:
			_ = l.broken("its output ended in the middle of a line: %s", excerpt(line))
			return
		case err != nil:
			_ = l.broken("its output ended: %v", err)
			return
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil || a.ID == nil {
			_ = l.broken("a line of its output is no answer, "+
				"and what is meant for people belongs on standard error: %s", excerpt(line))
			return
		}
		l.mu.Lock()
		waiting, ok := l.calls[*a.ID]
		delete(l.calls, *a.ID)
		l.mu.Unlock()
		if !ok {
			_ = l.broken("it answered request %d, which is not under way", *a.ID)
			return
		}
		waiting <- a
	}
}

// readLine reads a line without its end.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > mostLine:
			return nil, fmt.Errorf("a line has more than %d bytes", mostLine)
		}
	}
}

// excerpt is the beginning of a line.
func excerpt(line []byte) string {
	const most = 120
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}

// broken ends the link with the fault, unless it has one or was closed.
func (l *link) broken(format string, args ...any) *Fault {
	f := &Fault{"the program: " + fmt.Sprintf(format, args...)}
	l.mu.Lock()
	first := l.fault == nil
	if first {
		l.fault = f
	}
	f, over := l.fault, l.over
	l.mu.Unlock()
	if !first {
		<-l.done
		return f
	}
	l.end()
	if !over {
		l.blame(f)
	}
	close(l.done)
	return f
}

// watch ends a link whose program is silent while calls are under way.
func (l *link) watch() {
	tick := time.NewTicker(l.silence / 4)
	defer tick.Stop()
	asked := time.Time{}
	for {
		select {
		case <-l.done:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		waits := len(l.calls) > 0
		l.mu.Unlock()
		heard, silence := time.Unix(0, l.heard.Load()), l.silence
		if !l.started.Load() {
			silence *= starting
		}
		switch {
		case !waits || heard.After(asked) && time.Since(heard) < silence:
			asked = time.Time{}
		case asked.IsZero():
			asked = time.Now()
			go func() { _ = l.control(context.Background(), nil, "ping", 0) }()
		case time.Since(asked) > silence:
			_ = l.broken("it has answered neither a call nor ping for %v: does it write out its buffer after each line?", time.Since(heard).Round(time.Second))
		}
	}
}

// send writes a request and returns the channel of its answer.
func (l *link) send(r request) (int64, chan answer, error) {
	came := make(chan answer, 1)
	l.mu.Lock()
	l.last++
	r.ID = l.last
	if r.Call != "cancel" {
		l.calls[r.ID] = came
	}
	if len(l.calls) == 1 {
		l.heard.Store(time.Now().UnixNano())
	}
	l.mu.Unlock()
	line, err := json.Marshal(r)
	if err != nil {
		return 0, nil, err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if _, err := l.out.Write(append(line, '\n')); err != nil {
		return 0, nil, l.broken("it does not read its input: %v", err)
	}
	return r.ID, came, nil
}

// call makes a request and waits for its answer. When the context ends, a program that
// takes part is told so, and answers; the call of another one is left alone.
func (l *link) call(ctx context.Context, r request) (answer, error) {
	takesPart := l.hello.has(Cancel)
	if err := ctx.Err(); err != nil && !takesPart {
		return answer{}, err
	} else if err != nil {
		r.Cancelled = true
	}
	if end, ok := ctx.Deadline(); ok && takesPart {
		r.Timeout = new(float64(time.Until(end)) / float64(time.Millisecond))
	}
	id, came, err := l.send(r)
	if err != nil {
		return answer{}, err
	}
	left := ctx.Done()
	for {
		select {
		case a := <-came:
			return a, nil
		case <-left:
			if !takesPart {
				return answer{}, ctx.Err()
			}
			left = nil
			if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the program knows the deadline
				continue
			}
			number, _ := json.Marshal(id)
			if _, _, err := l.send(request{Call: "cancel", Args: []json.RawMessage{number}}); err != nil {
				return answer{}, err
			}
		case <-l.done:
			select { // the answer may have come just before the end
			case a := <-came:
				return a, nil
			default:
				return answer{}, l.why()
			}
		}
	}
}

func (l *link) why() *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// control makes a call that is none of the contract, and stores its result.
func (l *link) control(ctx context.Context, result any, call string, handle int64, args ...any) error {
	r := request{Call: call, Handle: handle, Args: []json.RawMessage{}}
	for _, arg := range args {
		text, err := json.Marshal(arg)
		if err != nil {
			return err
		}
		r.Args = append(r.Args, text)
	}
	a, err := l.call(ctx, r)
	if err != nil {
		return err
	}
	if a.Error != nil {
		return a.Error.asError()
	}
	if result != nil {
		if err := json.Unmarshal(a.Result, result); err != nil {
			return l.broken("its answer to %s has the wrong form: %v", call, err)
		}
	}
	return nil
}

// close ends the link in order.
func (l *link) close() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	_ = l.broken("it was closed")
}

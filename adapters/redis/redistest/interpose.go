package redistest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
)

// refuser stands between a client and its servers. After refuse, it answers writes in the
// place of the server, on the connections that were open at that time or on all.
type refuser struct {
	// answer returns the error that a write gets, without the dash.
	answer func(command []string) string
	// later: connections that are opened after refuse are refused too.
	later    bool
	refusing atomic.Bool
}

func (r *refuser) refuse() { r.refusing.Store(true) }

// dial opens a connection on which commands are answered.
func (r *refuser) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	server, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	from := r.refusing.Load()
	ours, theirs := net.Pipe()
	go func() {
		_ = r.serve(theirs, server, func() bool { return r.refusing.Load() && (r.later || !from) })
		_ = theirs.Close()
		_ = server.Close()
	}()
	return &conn{Conn: ours, addr: server.RemoteAddr()}, nil
}

// conn has the address of the server.
type conn struct {
	net.Conn
	addr net.Addr
}

func (c *conn) RemoteAddr() net.Addr { return c.addr }

// serve passes each command on and its reply back, until a side ends. It answers a write
// itself while refuses says so. Whether a script writes is the server's answer to the
// read-only form of the command.
func (r *refuser) serve(client io.ReadWriter, server io.ReadWriter, refuses func() bool) error {
	commands, replies := bufio.NewReader(client), bufio.NewReader(server)
	for {
		raw, err := readReply(commands)
		if err != nil {
			return err
		}
		command := words(raw)
		name := strings.ToLower(command[0])
		script := name == "eval" || name == "evalsha"
		refused := refuses() && (script || writes[name])
		switch {
		case refused && script:
			raw = encode(append([]string{name + "_ro"}, command[1:]...))
		case refused:
			if _, err := fmt.Fprintf(client, "-%s\r\n", r.answer(command)); err != nil {
				return err
			}
			continue
		}
		if _, err := server.Write(raw); err != nil {
			return err
		}
		for push := true; push; {
			reply, err := readReply(replies)
			if err != nil {
				return err
			}
			push = reply[0] == '>'
			if refused && bytes.HasPrefix(reply, []byte("-")) && bytes.Contains(reply, []byte("not allowed from read-only scripts")) {
				reply = []byte("-" + r.answer(command) + "\r\n")
			}
			if _, err := client.Write(reply); err != nil {
				return err
			}
		}
	}
}

// writes are the writes that the adapter sends outside of scripts.
var writes = map[string]bool{"set": true, "setnx": true, "mset": true, "msetnx": true, "unlink": true, "zrem": true}

// readReply reads one value of the protocol, a command or a reply, as it was sent.
func readReply(from *bufio.Reader) ([]byte, error) {
	line, err := from.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, errors.New("a line is too short")
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	switch line[0] {
	case '$', '=', '!':
		if err != nil || n < 0 {
			return line, err
		}
		rest := make([]byte, n+2)
		_, err = io.ReadFull(from, rest)
		return append(line, rest...), err
	case '%', '|':
		n *= 2
	case '*', '~', '>':
	default:
		return line, nil
	}
	for ; err == nil && n > 0; n-- {
		var one []byte
		one, err = readReply(from)
		line = append(line, one...)
	}
	return line, err
}

// words returns the words of a command.
func words(raw []byte) (all []string) {
	from := bufio.NewReader(bytes.NewReader(raw))
	_, _ = from.ReadBytes('\n')
	for {
		word, err := readReply(from)
		if err != nil {
			return all
		}
		_, text, _ := bytes.Cut(word, []byte("\r\n"))
		all = append(all, string(bytes.TrimSuffix(text, []byte("\r\n"))))
	}
}

func encode(command []string) []byte {
	raw := fmt.Appendf(nil, "*%d\r\n", len(command))
	for _, word := range command {
		raw = fmt.Appendf(raw, "$%d\r\n%s\r\n", len(word), word)
	}
	return raw
}

package mongotest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// readOnly opens an adapter behind one name. After demote, the connections that are open lead
// to a server that has stepped down, and those that are opened later to the new primary.
func (e *Env) readOnly(t testing.TB) (adapter.Adapter, func()) {
	name := NewDatabase(t, e.admin)
	check(t, e.prepare(t.Context(), name, ""))
	var hello bson.M
	check(t, e.admin.Database("admin").RunCommand(t.Context(), bson.D{{Key: "hello", Value: 1}}).Decode(&hello))
	topology, ok := hello["topologyVersion"].(bson.D)
	if !ok {
		t.Fatal("the server does not tell its topologyVersion, which MongoDB has since 4.4")
	}
	for i := range topology {
		if n, ok := topology[i].Value.(int64); ok { // counts its changes
			topology[i].Value = n + 1
		}
	}
	delete(hello, "$clusterTime")
	hello["isWritablePrimary"], hello["secondary"] = false, true
	between := &demoted{hello: hello, refusal: bson.M{
		"ok": 0.0, "errmsg": "not primary", "code": int32(10107), "codeName": "NotWritablePrimary",
		"errorLabels": bson.A{"RetryableWriteError"}, "topologyVersion": topology,
	}}
	settings := options.Client().ApplyURI(e.URL).SetDialer(between).SetMaxPoolSize(plenty).SetServerMonitoringMode("poll")
	if me, ok := hello["me"].(string); ok && len(settings.Hosts) > 1 {
		settings.SetHosts([]string{me}) // the one that answered is the primary
	}
	client := must(mgo.Connect(settings.SetDirect(true)))(t)
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	h := &Handle{Client: client, Database: name}
	h.Adapter = must(mongo.New(client.Database(name), e.options("")...))(t)
	e.look(t, h)
	return h, func() { between.refusing.Store(true) }
}

// demoted stands between a client and its server. On connections that were open when it began
// to refuse, it answers as a server that has stepped down.
type demoted struct {
	hello, refusal bson.M // its answers
	refusing       atomic.Bool
}

// DialContext implements options.ContextDialer.
func (d *demoted) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	server, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil || d.refusing.Load() {
		return server, err
	}
	ours, theirs := net.Pipe()
	go func() {
		_, _ = io.Copy(theirs, server)
		_ = theirs.Close()
	}()
	go func() {
		_ = d.serve(theirs, server)
		_ = theirs.Close()
		_ = server.Close()
	}()
	return ours, nil
}

// The protocol: a header of four numbers, then in a message flags, a byte and the command.
const (
	headerSize = 16
	message    = 2013 // the opcode
	beforeBody = headerSize + 5
)

// serve passes each command on until the client ends. While it refuses, a write and what
// begins a transaction get the refusal, and the question whether the server has changed
// waits, since it has not.
func (d *demoted) serve(client io.ReadWriter, server io.Writer) error {
	for {
		raw := make([]byte, headerSize)
		if _, err := io.ReadFull(client, raw); err != nil {
			return err
		}
		size := int(binary.LittleEndian.Uint32(raw))
		raw = append(raw, make([]byte, max(0, size-headerSize))...)
		if _, err := io.ReadFull(client, raw[headerSize:]); err != nil {
			return err
		}
		to, answer := server, raw
		if d.refusing.Load() && binary.LittleEndian.Uint32(raw[12:]) == message && size > beforeBody {
			command := bson.Raw(raw[beforeBody:])
			name := nameOf(command)
			switch {
			case name == "hello" && !command.Lookup("topologyVersion").IsZero():
				continue
			case name == "hello":
				to, answer = client, reply(raw, d.hello)
			case slices.Contains(ofPrimary, name), !command.Lookup("startTransaction").IsZero():
				to, answer = client, reply(raw, d.refusal)
			}
		}
		if _, err := to.Write(answer); err != nil {
			return err
		}
	}
}

// ofPrimary are the commands that only a primary carries out.
var ofPrimary = []string{"insert", "update", "delete", "findAndModify", "create", "createIndexes", "collMod", "commitTransaction"}

// nameOf returns the name of the command, which is its first key.
func nameOf(command bson.Raw) string {
	first, err := command.IndexErr(0)
	if err != nil {
		return ""
	}
	return first.Key()
}

// reply is the message that answers a command.
func reply(command []byte, answer bson.M) []byte {
	body, err := bson.Marshal(answer)
	if err != nil {
		panic(err) // it was received as a document
	}
	raw := binary.LittleEndian.AppendUint32(nil, uint32(beforeBody+len(body))) //nolint:gosec // a short document
	raw = binary.LittleEndian.AppendUint32(raw, 0)
	raw = append(raw, command[4:8]...) // which command is answered
	raw = binary.LittleEndian.AppendUint32(raw, message)
	return append(append(raw, 0, 0, 0, 0, 0), body...)
}

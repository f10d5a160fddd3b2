package stress_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// mostOpened connections may be opened in three seconds while every server is a secondary.
const mostOpened = 100

// TestPrimaryStepsDown lets the primary of MongoDB step down, behind one name to which a client
// connects directly. While the name leads to the former primary, reads go on and writes fail.
// When it leads to the new one, the connections to the former are left: writes succeed again,
// and reads find what was written.
func TestPrimaryStepsDown(t *testing.T) {
	if testing.Short() {
		t.Skip("LEFT OUT: -short tests memory only")
	}
	ctx := t.Context()
	t.Setenv(stores.EnvMongoSet, "") // the test may use only a set that this run started
	set := wiringstest.Server(t, stores.Options{}, stores.KindMongoSet)
	name := &oneName{t: t, set: set}
	former := name.lead()
	client, err := mgo.Connect(options.Client().ApplyURI("mongodb://one.name/?directConnection=true").SetDialer(name).SetMaxPoolSize(8))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(ctx)) })
	db := client.Database("gatehouse_stepdown")
	a, err := mongo.New(db)
	if err == nil {
		err = a.EnsureIndexes(ctx)
	}
	require.NoError(t, err)
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	create := func(ctx context.Context) error { _, err := a.CreateUser(ctx, adapter.User{}); return err }
	read := func(ctx context.Context) error {
		got, err := a.GetUser(ctx, user.ID)
		assert.Truef(t, err == nil && got != nil, "GetUser: got %v, %v", got, err)
		return nil
	}
	atOnce(ctx, create) // opens all connections

	stepDown := bson.D{{Key: "replSetStepDown", Value: 60}, {Key: "secondaryCatchUpPeriodSecs", Value: 10}}
	err = name.at(former, func(c *mgo.Client) error { return c.Database("admin").RunCommand(ctx, stepDown).Err() })
	require.NoError(t, err)
	dialed, began, writes := name.dialed.Load(), time.Now(), 0
	for ; writes < 3 || time.Since(began) < 3*time.Second; writes++ {
		require.Error(t, create(ctx), "the former primary has stored a user")
		atOnce(ctx, read)
	}
	opened := name.dialed.Load() - dialed
	t.Logf("%d connections for %d refused writes in %v", opened, writes, time.Since(began).Round(time.Millisecond))
	assert.Truef(t, opened <= mostOpened,
		"%d connections were opened while every server is a secondary, want at most %d", opened, mostOpened)
	for name.lead() == former {
		require.NoError(t, t.Context().Err(), "the set has elected nobody else")
	}
	refused := 0
	began = time.Now()
	for create(ctx) != nil {
		refused++
		require.LessOrEqual(t, time.Since(began), 10*time.Second, "writes fail after the name leads to the new primary")
	}
	t.Logf("%d writes were refused in %v after the switch", refused, time.Since(began).Round(time.Millisecond))
	for range 5 {
		atOnce(ctx, func(ctx context.Context) error {
			assert.NoError(t, create(ctx), "CreateUser after the switch")
			return nil
		})
	}
	must(a.DeleteUser(ctx, user.ID))(t)
	atOnce(ctx, func(ctx context.Context) error {
		got, err := a.GetUser(ctx, user.ID)
		assert.Truef(t, err == nil && got == nil, "a deleted user: got %v, %v", got, err)
		return nil
	})
	assert.NoError(t, db.Drop(ctx))
}

// atOnce calls f eight times at once.
func atOnce(ctx context.Context, f func(ctx context.Context) error) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { _ = f(ctx) })
	}
	wg.Wait()
}

// oneName dials the member to which it leads, whatever the address is.
type oneName struct {
	t      *testing.T
	set    *stores.Store
	target atomic.Pointer[string]
	dialed atomic.Int64
}

// lead makes the name lead to the present primary, and returns its address.
func (n *oneName) lead() string {
	n.t.Helper()
	primary := must(n.set.Primary(n.t.Context()))(n.t)
	n.target.Store(&primary.Addr)
	return primary.Addr
}

func (n *oneName) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	n.dialed.Add(1)
	return new(net.Dialer).DialContext(ctx, network, *n.target.Load())
}

// at opens a client of one member for the time of a function.
func (n *oneName) at(addr string, do func(*mgo.Client) error) error {
	client, err := mgo.Connect(options.Client().ApplyURI("mongodb://" + addr + "/?directConnection=true"))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(n.t.Context())) }()
	return do(client)
}

package mongo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// demotion notices that the server behind an address has stepped down, while the connections
// to it live on: it answers reads, from data that get old, and refuses writes. The driver
// itself leaves such a server if it knows all members of the set; with a direct connection
// through one name it stays. The connections are then closed, so that the next ones reach
// the new primary.
type demotion struct {
	db   *mgo.Database
	mu   sync.Mutex
	last time.Time     // when connections were closed
	wait time.Duration // until they may be closed again
}

// While every server is a secondary, connections are closed ever more seldom, so that reads
// go on.
const (
	shortestWait = time.Second
	longestWait  = time.Minute
	// atOnce connections are tried at once, in at most mostRounds rounds.
	atOnce     = 16
	mostRounds = 8
	// answerTime is how long a server may take to answer the question of a round. One that has
	// not changed does not answer.
	answerTime = 200 * time.Millisecond
)

// demoted are the codes with which a server refuses what only a primary does.
var demoted = []int{189, 10058, 10107, 11602, 13435, 13436}

// notDone are those after which the write is known not to be done.
var notDone = []int{10058, 10107, 13435}

// again reports whether a write that began then, and whose error is err, should be sent once
// more: the server has refused it because it is no longer the primary, and the connections
// to it are closed. In a transaction nothing is sent again.
func (d *demotion) again(ctx context.Context, began time.Time, err error) bool {
	if !isCode(err, demoted...) || mgo.SessionFromContext(ctx) != nil {
		return false
	}
	return d.left(ctx, began, err) && isCode(err, notDone...) && !isWritten(err)
}

// left closes the connections to the server that has refused a write. It reports whether a
// call that began then should be tried again.
func (d *demotion) left(ctx context.Context, began time.Time, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := time.Since(d.last)
	switch {
	case began.Before(d.last):
		return true
	case since < d.wait:
		return false
	case since < 2*d.wait:
		d.wait = min(2*d.wait, longestWait)
	default:
		d.wait = shortestWait
	}
	topology := topologyOf(err)
	if topology != nil { // the driver first asks the server what it is now, at most twice a second
		within, cancel := context.WithTimeout(ctx, time.Second)
		_ = d.db.Client().Ping(within, readpref.Nearest())
		cancel()
	}
	for n := 0; topology != nil && n < mostRounds && ctx.Err() == nil; n++ {
		closed := d.round(ctx, topology)
		if closed == 0 {
			break
		}
		if closed == atOnce && n > 0 {
			break // new connections lead to the same server: no other one is there yet
		}
	}
	d.last = time.Now()
	return topology != nil
}

// round asks on many connections at once whether the server has changed since the topology.
// The server that has refused the write does not answer, and the connection is closed.
// Another server answers at once. It returns how many connections were closed.
func (d *demotion) round(ctx context.Context, topology bson.Raw) int {
	var closed atomic.Int32
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			within, cancel := context.WithTimeout(ctx, answerTime)
			defer cancel()
			var hello struct {
				Topology bson.Raw `bson:"topologyVersion"`
			}
			wait := bson.D{{Key: "hello", Value: int32(1)}, {Key: "topologyVersion", Value: topology}, {Key: "maxAwaitTimeMS", Value: int64(10 * answerTime / time.Millisecond)}}
			_ = d.db.Client().Database("admin").RunCommand(abortable{within}, wait).Decode(&hello)
			if within.Err() != nil && ctx.Err() == nil {
				closed.Add(1)
			}
		})
	}
	wg.Wait()
	return int(closed.Load())
}

// topologyOf returns the state of the server that has refused a command, or nil if it does
// not tell.
func topologyOf(err error) bson.Raw {
	var e *refusal
	if !errors.As(err, &e) {
		return nil
	}
	return e.topology
}

// isWritten reports whether the server has done the write and refused to confirm it.
func isWritten(err error) bool {
	var e *refusal
	return errors.As(err, &e) && e.written
}

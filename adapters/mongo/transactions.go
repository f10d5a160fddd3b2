package mongo

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	driver "go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

const (
	// conflictTime is how long a transaction that conflicts with others is repeated.
	conflictTime = 5 * time.Second
	// betweenTries is the longest rest before the next try.
	betweenTries = 20 * time.Millisecond
	// killTime is how long the adapter tries to end a transaction on the server. The
	// server itself ends an abandoned transaction after a minute.
	killTime = 30 * time.Second
	// killTryTime limits one try, whose connection may be dead, and the rest after it.
	killTryTime = time.Second
)

// Whether a server supports transactions.
const (
	unknown int32 = iota
	hasTransactions
	hasNone
)

// askTransactions reports whether the server supports transactions, as a replica set
// and a sharded cluster do. It asks the server once.
func (a *Adapter) askTransactions(ctx context.Context) (bool, error) {
	if known := a.transactions.Load(); known != unknown {
		return known == hasTransactions, nil
	}
	var hello struct {
		Set     string `bson:"setName"`
		Message string `bson:"msg"`
	}
	err := a.client.Database("admin").RunCommand(abortable{ctx}, bson.D{{Key: "hello", Value: int32(1)}}).Decode(&hello)
	if err != nil {
		return false, ended(ctx, err)
	}
	has := hello.Set != "" || hello.Message == "isdbgrid"
	if has {
		a.transactions.Store(hasTransactions)
	} else {
		a.transactions.Store(hasNone)
	}
	return has, nil
}

// transaction runs do in a transaction, and repeats it while it conflicts with another
// one. It does not repeat it after a lost connection; no other method does either.
func (a *Adapter) transaction(ctx context.Context, do func(ctx context.Context) error) error {
	for deadline := time.Now().Add(conflictTime); ; {
		err := a.tryTransaction(ctx, do)
		var said mgo.ServerError
		again := errors.As(err, &said) && said.HasErrorLabel("TransientTransactionError") && !mgo.IsNetworkError(err)
		if !again || ctx.Err() != nil || time.Now().After(deadline) {
			return ended(ctx, err)
		}
		if err := rest(ctx, rand.N(betweenTries)); err != nil {
			return err
		}
	}
}

func (a *Adapter) tryTransaction(ctx context.Context, do func(ctx context.Context) error) error {
	session, err := a.client.StartSession()
	if err != nil {
		return err
	}
	o := driver.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary())
	if err := session.StartTransaction(o); err != nil {
		return err
	}
	err = do(mgo.NewSessionContext(ctx, session))
	if err == nil {
		err = session.CommitTransaction(mgo.NewSessionContext(abortable{ctx}, session))
	}
	if ctx.Err() == nil && (err == nil || errors.As(err, new(mgo.ServerError)) && !mgo.IsNetworkError(err)) {
		session.EndSession(abortable{ctx}) // aborts a transaction that is not committed
		return err
	}
	// The transaction may still be open on the server, where other calls wait for its
	// locks. The caller has given up, or the server can't be reached, so a goroutine
	// ends it.
	go a.kill(context.WithoutCancel(ctx), session)
	return err
}

// kill ends the transaction of a session on the server, and tries again while the
// server can't be reached. It kills the session twice: a statement that was still
// under way may arrive after the first time, and would begin the transaction again.
func (a *Adapter) kill(ctx context.Context, session *mgo.Session) {
	ctx, cancel := context.WithTimeout(ctx, killTime)
	for killed := 0; ctx.Err() == nil; _ = rest(ctx, killTryTime) {
		err := a.killOnce(ctx, session)
		if err == nil {
			killed++
		}
		refused := errors.Is(err, mgo.ErrClientDisconnected) || errors.As(err, new(mgo.CommandError)) && !mgo.IsNetworkError(err)
		if refused || killed == 2 {
			cancel()
		}
	}
	cancel()
	session.EndSession(ctx) // sends nothing more
}

func (a *Adapter) killOnce(ctx context.Context, session *mgo.Session) error {
	ctx, cancel := context.WithTimeout(ctx, killTryTime)
	defer cancel()
	return a.client.Database("admin").RunCommand(ctx, bson.D{{Key: "killSessions", Value: bson.A{session.ID()}}}).Err()
}

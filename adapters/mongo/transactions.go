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
	// endTime is how long the adapter tries to end a transaction on the server. The
	// server itself ends an abandoned transaction after a minute.
	endTime = 30 * time.Second
	// endTryTime limits one try, whose connection may be dead, and the rest after it.
	endTryTime = time.Second
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
		return false, a.users.done(ctx, rightFind, err)
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
		began := time.Now()
		err := a.tryTransaction(ctx, do)
		if isCode(err, demoted...) {
			a.users.demotion.left(ctx, began, err)
		}
		var said mgo.ServerError
		again := answered(err) && errors.As(err, &said) && said.HasErrorLabel("TransientTransactionError")
		if !again || ctx.Err() != nil || time.Now().After(deadline) {
			return a.users.done(ctx, rightInsert, err)
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
	if err := session.StartTransaction(transactionOptions()); err != nil {
		return err
	}
	err = do(mgo.NewSessionContext(ctx, session))
	if err == nil {
		err = session.CommitTransaction(mgo.NewSessionContext(abortable{ctx}, session))
	}
	if ctx.Err() == nil && answered(err) {
		session.EndSession(abortable{ctx}) // aborts a transaction that is not committed
		return err
	}
	// The transaction may still be open on the server, where other calls wait for its
	// locks. The caller has given up, or the server can't be reached, so a goroutine
	// ends it.
	go a.end(context.WithoutCancel(ctx), session)
	return err
}

func transactionOptions() *driver.TransactionOptionsBuilder {
	return driver.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary())
}

// end ends the transaction of a session on the server, and tries again while the
// server can't be reached.
func (a *Adapter) end(ctx context.Context, session *mgo.Session) {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	for !a.tryEnd(ctx, session) {
		if rest(ctx, endTryTime) != nil {
			break
		}
	}
	session.EndSession(ctx)
}

// tryEnd interrupts the transaction, and begins the next one of the session with a
// statement that reads nothing. The server then refuses a statement of the earlier one
// that arrives later, which would begin that one again. tryEnd reports whether the server
// has answered, or the client is closed.
func (a *Adapter) tryEnd(ctx context.Context, session *mgo.Session) bool {
	ctx, cancel := context.WithTimeout(ctx, endTryTime)
	defer cancel()
	kill := bson.D{{Key: "killSessions", Value: bson.A{session.ID()}}}
	_ = a.client.Database("admin").RunCommand(ctx, kill).Err() // the next statement shows whether the server answers
	done, finish := context.WithCancel(ctx)
	finish()
	_ = session.AbortTransaction(done) // sends nothing, because the context has ended
	err := session.StartTransaction(transactionOptions())
	if err == nil {
		nobody := bson.D{{Key: "_id", Value: nil}}
		err = a.users.FindOne(mgo.NewSessionContext(ctx, session), nobody).Err()
	}
	return answered(err) || errors.Is(err, mgo.ErrNoDocuments) || errors.Is(err, mgo.ErrClientDisconnected)
}

// answered reports whether the server has answered, with an error or without. In a
// transaction the driver also returns a CommandError if it can't reach the server.
func answered(err error) bool {
	if said, ok := errors.AsType[mgo.CommandError](err); ok {
		return len(said.Raw) > 0
	}
	return err == nil || errors.As(err, new(mgo.ServerError))
}

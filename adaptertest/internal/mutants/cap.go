package mutants

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func capMutants() []Mutant {
	return []Mutant{
		{Name: "missing method reports success", Fails: []string{"CAP-01"}, AuthJS: true,
			Fault: "the adapter lacks DeleteUser, and DeleteUser returns nil and no error", mem: func(_ *mem, w *with) {
				w.missing = []string{"DeleteUser"}
				w.deleteUser = func(context.Context, string) (*adapter.User, error) { return nil, nil }
			}},
		{Name: "missing method panics", Fails: []string{"CAP-01"}, AuthJS: true,
			Fault: "the adapter lacks UnlinkAccount, and UnlinkAccount panics", mem: func(_ *mem, w *with) {
				w.missing = []string{"UnlinkAccount"}
				w.unlinkAccount = func(context.Context, adapter.AccountKey) (*adapter.Account, error) {
					panic("not implemented")
				}
			}},
		{Name: "missing method fails like any other", Fails: []string{"CAP-01"}, AuthJS: true,
			Fault: "the adapter lacks GetAccount, and the error of GetAccount does not match ErrUnsupported",
			mem: func(_ *mem, w *with) {
				w.missing = []string{"GetAccount"}
				w.getAccount = func(context.Context, string, string) (*adapter.Account, error) {
					return nil, errors.New("mem: not implemented")
				}
			}},
		{Name: "lone method", Fails: []string{"CAP-02"}, AuthJS: true,
			Fault: "the adapter has CreateVerificationToken, and lacks UseVerificationToken", mem: func(_ *mem, w *with) {
				w.missing = []string{"UseVerificationToken"}
				w.useVerificationToken = func(context.Context, adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					return nil, adapter.ErrUnsupported
				}
			}},
		{Name: "preparing empties a table", Fails: []string{"CAP-03", "ISO-03"},
			Fault: "opening the adapter creates the session table anew", lite: func(l *lite, w *with) {
				if err := l.exec(context.Background(), `DELETE FROM "session"`); err != nil {
					panic(err)
				}

			}},
		{Name: "first calls race to prepare", Fails: []string{"CAP-04"},
			Fault: "the first call prepares the store, and fails if another call is doing so", mem: func(m *mem, w *with) {
				var lock sync.Mutex
				var prepared bool
				w.createUser = func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if !lock.TryLock() {
						return nil, errors.New("mem: the table is being created")
					}
					defer lock.Unlock()
					if !prepared {
						prepared = true
						prepare()
					}
					return m.CreateUser(ctx, u)
				}
			}},
	}
}

// prepare takes as long as a few SQL statements.
func prepare() {
	for deadline := time.Now().Add(3 * time.Millisecond); time.Now().Before(deadline); {
		runtime.Gosched()
	}
}

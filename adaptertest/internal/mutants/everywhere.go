package mutants

import (
	"context"
	"reflect"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// storing alters every record and update before it is stored.
func storing(b base, alter func(record any)) with {
	return with{
		createUser: before(b.CreateUser, alter), updateUser: before(b.UpdateUser, alter),
		linkAccount:   before(b.LinkAccount, alter),
		createSession: before(b.CreateSession, alter), updateSession: before(b.UpdateSession, alter),
		createToken:         before(b.CreateVerificationToken, alter),
		createAuthenticator: before(b.CreateAuthenticator, alter),
	}
}

// before calls alter with a pointer to a copy of the argument, then method.
func before[A, T any](method func(context.Context, A) (T, error), alter func(any)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, arg A) (T, error) {
		alter(&arg)
		return method(ctx, arg)
	}
}

// keyed alters the keys in the arguments of all methods that look up, use, unlink
// or delete a record.
func keyed(b base, alter func(key string) string) with {
	w := with{
		getUser: rekeyed(b.GetUser, alter), getUserByEmail: rekeyed(b.GetUserByEmail, alter), deleteUser: rekeyed(b.DeleteUser, alter),
		getSessionAndUser: rekeyed(b.GetSessionAndUser, alter), deleteSession: rekeyed(b.DeleteSession, alter),
		getAuthenticator: rekeyed(b.GetAuthenticator, alter), listAuthenticators: rekeyed(b.ListAuthenticatorsByUserID, alter),
	}
	w.getUserByAccount = func(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
		return b.GetUserByAccount(ctx, adapter.AccountKey{Provider: alter(k.Provider), ProviderAccountID: alter(k.ProviderAccountID)})
	}
	w.unlinkAccount = func(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
		return b.UnlinkAccount(ctx, adapter.AccountKey{Provider: alter(k.Provider), ProviderAccountID: alter(k.ProviderAccountID)})
	}
	w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
		return b.GetAccount(ctx, alter(id), alter(provider))
	}
	w.useToken = func(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
		return b.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: alter(k.Identifier), Token: alter(k.Token)})
	}
	return w
}

func rekeyed[T any](method func(context.Context, string) (T, error), alter func(string) string) func(context.Context, string) (T, error) {
	return func(ctx context.Context, key string) (T, error) { return method(ctx, alter(key)) }
}

// texts alters all texts of a record or update except the names of users.
func texts(alter func(string) string) func(record any) {
	return func(record any) {
		each(reflect.ValueOf(record).Elem(), func(v any) {
			if s, ok := v.(*string); ok {
				*s = alter(*s)
			}
		})
	}
}

// instants alters all instants of a record or update.
func instants(alter func(time.Time) time.Time) func(record any) {
	return func(record any) {
		each(reflect.ValueOf(record).Elem(), func(v any) {
			if t, ok := v.(*time.Time); ok {
				*t = alter(*t)
			}
		})
	}
}

// each calls visit with pointers to the texts and instants of a record or
// update. It copies the values that the record points to first, because they
// belong to the caller.
func each(record reflect.Value, visit func(any)) {
	for i := range record.NumField() {
		switch f := record.Field(i).Addr().Interface().(type) {
		case *string:
			visit(f)
		case *time.Time:
			visit(f)
		case **string:
			if *f != nil {
				*f = new(**f)
				visit(*f)
			}
		case **time.Time:
			if *f != nil {
				*f = new(**f)
				visit(*f)
			}
		case *adapter.Change[string]:
			visitChange(f, visit)
		case *adapter.Change[time.Time]:
			visitChange(f, visit)
		case *adapter.Change[*string]:
			visitPointer(f, visit)
		case *adapter.Change[*time.Time]:
			visitPointer(f, visit)
		}
	}
}

func visitChange[T any](c *adapter.Change[T], visit func(any)) {
	if v, set := c.Get(); set {
		visit(&v)
		*c = adapter.To(v)
	}
}

func visitPointer[T any](c *adapter.Change[*T], visit func(any)) {
	if v, set := c.Get(); set && v != nil {
		v = new(*v)
		visit(v)
		*c = adapter.To(v)
	}
}

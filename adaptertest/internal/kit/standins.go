package kit

import (
	"context"
	"slices"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// If the adapter lacks a lookup, another lookup replaces it where that is possible, so that clauses about writes can
// still be verified. Clauses about the missing lookup itself name it in their requires list and do not apply.

// remembered is what the results of a clause's calls say about keys.
type remembered struct {
	mu sync.Mutex
	// values are the last ones: of a user the address, of an address the user ID, and of a
	// session or an authenticator its owner.
	values map[Record]string
}

// addressKey is the kind of a key that is the address of a user.
const addressKey Kind = "address"

func (r *remembered) keep(kind Kind, key, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = map[Record]string{}
	}
	r.values[Record{Kind: kind, Key: key}] = value
}

func (r *remembered) of(kind Kind, key string) (value string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	value, known = r.values[Record{Kind: kind, Key: key}]
	return value, known
}

// keysOf returns the keys of a user's records of the kind, in order.
func (r *remembered) keysOf(kind Kind, userID string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for record, owner := range r.values {
		if record.Kind == kind && owner == userID {
			found = append(found, record.Key)
		}
	}
	slices.Sort(found)
	return found
}

// learn records what the result of a call says about keys.
func (r *remembered) learn(args []any, result any) {
	if IsNilRecord(result) {
		result = nil
	}
	switch x := result.(type) {
	case *adapter.User:
		r.keep(UserRecord, x.ID, x.Email)
		r.keep(addressKey, x.Email, x.ID)
	case *adapter.Session:
		r.keep(SessionRecord, x.SessionToken, x.UserID)
	case *adapter.Authenticator:
		r.keep(AuthenticatorRecord, x.CredentialID, x.UserID)
	}
	for _, arg := range args {
		switch x := arg.(type) {
		case adapter.Session:
			r.keep(SessionRecord, x.SessionToken, x.UserID)
		case adapter.Authenticator:
			r.keep(AuthenticatorRecord, x.CredentialID, x.UserID)
		}
	}
}

// standIn returns the lookup that replaces one which the adapter lacks, or nil.
func (o *Observer) standIn(ctx context.Context, method string, x []any) func() (any, error) {
	switch method {
	case "GetUser":
		return func() (any, error) { return o.userByID(ctx, x[0].(string)) }
	case "GetUserByEmail":
		return func() (any, error) { return o.userByEmail(ctx, x[0].(string)) }
	case "GetUserByAccount":
		return func() (any, error) { return o.userByAccount(ctx, x[0].(adapter.AccountKey)) }
	case "GetAccount":
		return func() (any, error) { return o.accountByKey(ctx, accountKey([]string{x[1].(string), x[0].(string)})) }
	case "GetSessionAndUser":
		return func() (any, error) { return o.sessionByToken(ctx, x[0].(string)) }
	case "GetAuthenticator":
		return func() (any, error) { return o.authenticatorByID(ctx, x[0].(string)) }
	case "ListAuthenticatorsByUserID":
		return func() (any, error) { return o.authenticatorsOf(ctx, x[0].(string)) }
	}
	return nil
}

// replaces ends the clause, because it requires the method, unless the adapter has the others and they are enough.
func (o *Observer) replaces(method string, enough bool, others ...string) {
	if !enough || slices.ContainsFunc(others, o.c.Lacks) {
		o.c.Requires(method)
	}
}

// userByID finds a user without GetUser, by the user's last address.
func (o *Observer) userByID(ctx context.Context, id string) (*adapter.User, error) {
	email, known := o.known.of(UserRecord, id)
	o.replaces("GetUser", known && email != "", "GetUserByEmail")
	u, err := o.GetUserByEmail(ctx, email)
	if u != nil && u.ID != id {
		return nil, err
	}
	return u, err
}

// userByEmail finds a user without GetUserByEmail, by the ID of the last user with the address.
func (o *Observer) userByEmail(ctx context.Context, email string) (*adapter.User, error) {
	id, known := o.known.of(addressKey, email)
	o.replaces("GetUserByEmail", known && email != "", "GetUser")
	u, err := o.GetUser(ctx, id)
	if u != nil && u.Email != email {
		return nil, err
	}
	return u, err
}

// userByAccount finds a user without GetUserByAccount, by the account.
func (o *Observer) userByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	o.replaces("GetUserByAccount", true, "GetAccount")
	account, err := o.GetAccount(ctx, key.ProviderAccountID, key.Provider)
	if account == nil || err != nil {
		return nil, err
	}
	return o.GetUser(ctx, account.UserID)
}

// accountByKey finds an account without GetAccount, in the list of its owner.
func (o *Observer) accountByKey(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	o.replaces("GetAccount", true, "GetUserByAccount", "ListAccountsByUserID")
	owner, err := o.GetUserByAccount(ctx, key)
	if owner == nil || err != nil {
		return nil, err
	}
	list, err := o.ListAccountsByUserID(ctx, owner.ID)
	return first(list, err, func(a adapter.Account) bool { return a.Key() == key })
}

// sessionByToken finds a session without GetSessionAndUser, in the list of its owner.
func (o *Observer) sessionByToken(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	owner, known := o.known.of(SessionRecord, token)
	o.replaces("GetSessionAndUser", known, "ListSessionsByUserID")
	list, err := o.ListSessionsByUserID(ctx, owner)
	s, err := first(list, err, func(s adapter.Session) bool { return s.SessionToken == token })
	if s == nil || err != nil {
		return nil, err
	}
	u, err := o.GetUser(ctx, s.UserID)
	if u == nil || err != nil {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: *s, User: *u}, nil
}

// authenticatorByID finds an authenticator without GetAuthenticator, in the list of its owner.
func (o *Observer) authenticatorByID(ctx context.Context, id string) (*adapter.Authenticator, error) {
	owner, known := o.known.of(AuthenticatorRecord, id)
	o.replaces("GetAuthenticator", known, "ListAuthenticatorsByUserID")
	list, err := o.ListAuthenticatorsByUserID(ctx, owner)
	return first(list, err, func(a adapter.Authenticator) bool { return a.CredentialID == id })
}

// authenticatorsOf lists the authenticators that the clause created, without ListAuthenticatorsByUserID.
func (o *Observer) authenticatorsOf(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	ids := o.known.keysOf(AuthenticatorRecord, userID)
	o.replaces("ListAuthenticatorsByUserID", len(ids) > 0, "GetAuthenticator")
	list := []adapter.Authenticator{}
	for _, id := range ids {
		a, err := o.GetAuthenticator(ctx, id)
		if err != nil {
			return nil, err
		}
		if a != nil && a.UserID == userID {
			list = append(list, *a)
		}
	}
	return list, nil
}

// first returns the first record of a list that wanted accepts, or nil.
func first[T any](list []T, err error, wanted func(T) bool) (*T, error) {
	i := slices.IndexFunc(list, wanted)
	if err != nil || i < 0 {
		return nil, err
	}
	return &list[i], nil
}

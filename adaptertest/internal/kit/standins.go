package kit

import (
	"context"
	"slices"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// If the adapter lacks a lookup, another lookup replaces it where that is
// possible, so that clauses about writes can still be verified. Clauses about the
// missing lookup itself name it in their requires list and do not apply.

// remembered is what the results of a clause's calls say about keys.
type remembered struct {
	mu     sync.Mutex
	emails map[string]string // from a user ID to the last address
	ids    map[string]string // from an address to the last user ID
	owners map[Record]string // from a session or authenticator to the last user ID
}

// user records the address of a user.
func (r *remembered) user(u *adapter.User) {
	if u == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.emails == nil {
		r.emails, r.ids = map[string]string{}, map[string]string{}
	}
	r.emails[u.ID], r.ids[u.Email] = u.Email, u.ID
}

// owner records the owner of a session or an authenticator.
func (r *remembered) owner(kind Kind, key, userID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners == nil {
		r.owners = map[Record]string{}
	}
	r.owners[Record{Kind: kind, Key: key}] = userID
}

func (r *remembered) ownerOf(kind Kind, key string) (userID string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	userID, known = r.owners[Record{Kind: kind, Key: key}]
	return userID, known
}

// keysOf returns the keys of a user's records of the kind, in order.
func (r *remembered) keysOf(kind Kind, userID string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for record, owner := range r.owners {
		if record.Kind == kind && owner == userID {
			found = append(found, record.Key)
		}
	}
	slices.Sort(found)
	return found
}

// learn records what the result of a call says about keys.
func (r *remembered) learn(args []any, result any) {
	switch x := result.(type) {
	case *adapter.User:
		r.user(x)
	case *adapter.Session:
		if x != nil {
			r.owner(SessionRecord, x.SessionToken, x.UserID)
		}
	case *adapter.Authenticator:
		if x != nil {
			r.owner(AuthenticatorRecord, x.CredentialID, x.UserID)
		}
	}
	for _, arg := range args {
		switch x := arg.(type) {
		case adapter.Session:
			r.owner(SessionRecord, x.SessionToken, x.UserID)
		case adapter.Authenticator:
			r.owner(AuthenticatorRecord, x.CredentialID, x.UserID)
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

// userByID finds a user without GetUser, by the user's last address.
func (o *Observer) userByID(ctx context.Context, id string) (*adapter.User, error) {
	o.known.mu.Lock()
	email, known := o.known.emails[id]
	o.known.mu.Unlock()
	if !known || email == "" || o.c.Lacks("GetUserByEmail") {
		o.c.Requires("GetUser")
	}
	u, err := o.GetUserByEmail(ctx, email)
	if u != nil && u.ID != id {
		return nil, err
	}
	return u, err
}

// userByEmail finds a user without GetUserByEmail, by the ID of the last user
// with the address.
func (o *Observer) userByEmail(ctx context.Context, email string) (*adapter.User, error) {
	o.known.mu.Lock()
	id, known := o.known.ids[email]
	o.known.mu.Unlock()
	if !known || email == "" || o.c.Lacks("GetUser") {
		o.c.Requires("GetUserByEmail")
	}
	u, err := o.GetUser(ctx, id)
	if u != nil && u.Email != email {
		return nil, err
	}
	return u, err
}

// userByAccount finds a user without GetUserByAccount, by the account.
func (o *Observer) userByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	if o.c.Lacks("GetAccount") {
		o.c.Requires("GetUserByAccount")
	}
	account, err := o.GetAccount(ctx, key.ProviderAccountID, key.Provider)
	if account == nil || err != nil {
		return nil, err
	}
	return o.GetUser(ctx, account.UserID)
}

// accountByKey finds an account without GetAccount, in the list of its owner.
func (o *Observer) accountByKey(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	if o.c.Lacks("GetUserByAccount") || o.c.Lacks("ListAccountsByUserID") {
		o.c.Requires("GetAccount")
	}
	owner, err := o.GetUserByAccount(ctx, key)
	if owner == nil || err != nil {
		return nil, err
	}
	list, err := o.ListAccountsByUserID(ctx, owner.ID)
	return first(list, err, func(a adapter.Account) bool { return a.Key() == key })
}

// sessionByToken finds a session without GetSessionAndUser, in the list of its
// owner.
func (o *Observer) sessionByToken(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	owner, known := o.known.ownerOf(SessionRecord, token)
	if !known || o.c.Lacks("ListSessionsByUserID") {
		o.c.Requires("GetSessionAndUser")
	}
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

// authenticatorByID finds an authenticator without GetAuthenticator, in the list
// of its owner.
func (o *Observer) authenticatorByID(ctx context.Context, id string) (*adapter.Authenticator, error) {
	owner, known := o.known.ownerOf(AuthenticatorRecord, id)
	if !known || o.c.Lacks("ListAuthenticatorsByUserID") {
		o.c.Requires("GetAuthenticator")
	}
	list, err := o.ListAuthenticatorsByUserID(ctx, owner)
	return first(list, err, func(a adapter.Authenticator) bool { return a.CredentialID == id })
}

// authenticatorsOf lists the authenticators that the clause created, without
// ListAuthenticatorsByUserID.
func (o *Observer) authenticatorsOf(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	ids := o.known.keysOf(AuthenticatorRecord, userID)
	if len(ids) == 0 || o.c.Lacks("GetAuthenticator") {
		o.c.Requires("ListAuthenticatorsByUserID")
	}
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

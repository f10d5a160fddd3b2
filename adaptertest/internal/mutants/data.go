package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func dataMutants() []Mutant {
	return []Mutant{
		{Name: "provider tokens exchanged", Fails: []string{"DATA-01", "ACCT-02"}, AuthJS: true,
			Fault: "LinkAccount stores access_token and refresh_token in each other's column",
			mem: given[*mem](linkAccount, func(a *adapter.Account) {
				a.AccessToken, a.RefreshToken = a.RefreshToken, a.AccessToken
			})},
		{Name: "null image is read as the empty string", Fails: []string{"DATA-02", "USER-02"},
			Fault: "CreateUser stores an image that is null as the empty string",
			mem: given[*mem](createUser, func(u *adapter.User) {
				if u.Image == nil {
					u.Image = new("")
				}
			})},
		{Name: "empty name is null", Fails: []string{"DATA-03"}, Fault: "the empty string is stored as null",
			mem: given[*mem](createUser, func(u *adapter.User) {
				if u.Name != nil && *u.Name == "" {
					u.Name = nil
				}
			})},
		{Name: "texts like dates become dates", Listed: "M39", Fails: []string{"DATA-04"},
			Fault: "a text that parses as a date is returned as that date in UTC",
			mem: storing[*mem](texts(func(s string) string {
				if t, err := time.Parse(time.RFC3339, s); err == nil {
					return t.UTC().Format(time.RFC3339Nano)
				}
				return s
			}))},
		{Name: "texts of digits become numbers", Fails: []string{"DATA-05"},
			Fault: "an account id of digits passes through a float", mem: given[*mem](linkAccount, func(a *adapter.Account) {
				if f, err := strconv.ParseFloat(a.ProviderAccountID, 64); err == nil {
					a.ProviderAccountID = strconv.FormatFloat(f, 'f', -1, 64)
				}
			})},
		{Name: "four-byte characters lost", Fails: []string{"DATA-06"},
			Fault: "characters outside the basic plane are stored as question marks",
			mem: storing[*mem](texts(func(s string) string {
				return strings.Map(func(r rune) rune {
					if r > 0xffff {
						return '?'
					}
					return r
				}, s)
			}))},
		{Name: "names are normalised", Fails: []string{"DATA-07"}, Fault: "decomposed accents are composed",
			mem: storing[*mem](texts(strings.NewReplacer("e\u0301", "é").Replace))},
		{Name: "long names cut", Fails: []string{"DATA-08", "DATA-09"}, Fault: "a name is cut at 200 bytes",
			mem: given[*mem](createUser, func(u *adapter.User) {
				if u.Name != nil {
					u.Name = new((*u.Name)[:min(len(*u.Name), 200)])
				}
			})},
		{Name: "credential IDs are unique by their beginning", Fails: []string{"DATA-08"},
			Fault: "The unique index of credential IDs holds their first 767 bytes.", mem: func(m *mem, w *with) {
				w.createAuthenticator = uniqueBeginning(767, func(a adapter.Authenticator) string { return a.CredentialID }, m.CreateAuthenticator)
			}},
		{Name: "session tokens are unique by their beginning", Fails: []string{"DATA-08"},
			Fault: "The unique index of session tokens holds their first 191 bytes.", lite: func(l *lite, w *with) {
				w.createSession = uniqueBeginning(191, func(s adapter.Session) string { return s.SessionToken }, l.CreateSession)
			}},
		{Name: "long addresses refused", Fails: []string{"DATA-09"},
			Fault: "CreateUser fails for an e-mail of more than 255 characters",
			mem: refusing(createUser, errors.New("mem: value too long for column"), func(_ *mem, u adapter.User) bool {
				return len([]rune(u.Email)) > 255
			})},
		{Name: "names are trimmed", Fails: []string{"DATA-10"}, Fault: "blanks around a name are lost",
			mem: given[*mem](createUser, func(u *adapter.User) {
				if u.Name != nil {
					u.Name = new(strings.TrimSpace(*u.Name))
				}
			})},
		{Name: "line breaks are changed", Fails: []string{"DATA-11"}, Fault: "a carriage return is stored as a newline",
			mem: storing[*mem](texts(strings.NewReplacer("\r", "\n").Replace))},
		{Name: "zero expiry is not set", Fails: []string{"DATA-12"}, Fault: "expires_at 0 is stored as null",
			mem: given[*mem](linkAccount, func(a *adapter.Account) {
				if a.ExpiresAt != nil && *a.ExpiresAt == 0 {
					a.ExpiresAt = nil
				}
			})},
		{Name: "invalid UTF-8 is replaced", Fails: []string{"DATA-13"},
			Fault: "bytes that are not UTF-8 are stored as replacement characters",
			mem:   storing[*mem](texts(func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }))},
		{Name: "update reads numbers of the details as floats", Fails: []string{"DATA-14"},
			Fault: "UpdateAccount decodes the details into doubles and encodes them again.",
			lite: given[*lite](updateAccount, func(u *adapter.AccountUpdate) {
				if details, set := u.AuthorizationDetails.Get(); set && details != nil {
					u.AuthorizationDetails = adapter.To(asDoubles(details))
				}
			})},
		{Name: "sign-up reads numbers of the details as floats", Fails: []string{"DATA-14"},
			Fault: "CreateUserWithAccount decodes the details into doubles and encodes them again.",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, x *adapter.Authenticator) (*adapter.User, error) {
				a.AuthorizationDetails = asDoubles(a.AuthorizationDetails)
				return m.CreateUserWithAccount(ctx, u, a, x)
			})},
		{Name: "update stores the expiry in 32 bits", Fails: []string{"DATA-14"},
			Fault: "UpdateAccount cuts expires_at to 32 bits.", mem: given[*mem](updateAccount, func(u *adapter.AccountUpdate) {
				if at, set := u.ExpiresAt.Get(); set && at != nil {
					u.ExpiresAt = adapter.To(new(int64(uint32(*at)))) //nolint:gosec // the fault
				}
			})},
		{Name: "JSON numbers are doubles", Fails: []string{"DATA-14"},
			Fault: "authorization details are decoded without UseNumber",
			mem: given[*mem](linkAccount, func(a *adapter.Account) {
				a.AuthorizationDetails = asDoubles(a.AuthorizationDetails)
			})},
		{Name: "JSON numbers are doubles when read", Fails: []string{"DATA-14"},
			Fault: "GetAccount decodes and encodes the authorization details",
			lite: onGetAccount(func(ctx context.Context, l *lite, id, provider string) (*adapter.Account, error) {
				a, err := l.GetAccount(ctx, id, provider)
				if a != nil {
					a.AuthorizationDetails = asDoubles(a.AuthorizationDetails)
				}
				return a, err
			})},
		{Name: "counters are doubles", Fails: []string{"DATA-14"},
			Fault: "UpdateAuthenticatorCounter sends the counter as a double",
			lite: onUpdateCounter(func(ctx context.Context, l *lite, id string, counter int64) (*adapter.Authenticator, error) {
				return l.UpdateAuthenticatorCounter(ctx, id, int64(float64(counter)))
			})},
		{Name: "expiry of an account is unsigned", Fails: []string{"DATA-14"},
			Fault: "expires_at is kept in 32 bits without a sign", mem: given[*mem](linkAccount, func(a *adapter.Account) {
				if a.ExpiresAt != nil {
					a.ExpiresAt = new(int64(uint32(*a.ExpiresAt))) //nolint:gosec // the fault
				}
			})},
		{Name: "names are unique", Fails: []string{"DATA-15"},
			Fault: "A unique index on the name: a second person with the same name can't sign up.",
			lite: refusingRows(createUser, fmt.Errorf("lite: user.name is taken: %w", adapter.ErrConflict),
				`SELECT 1 FROM "user" WHERE name = ?`,
				func(u adapter.User) []any { return []any{u.Name} })},
		{Name: "one authenticator for each connected account", Fails: []string{"DATA-15"},
			Fault: "A unique index on the owner and the account that an authenticator is connected to.",
			lite: refusingRows(createAuthenticator, fmt.Errorf("lite: authenticator.providerAccountId is taken: %w", adapter.ErrConflict),
				`SELECT 1 FROM "authenticator" WHERE userId = ? AND providerAccountId = ?`,
				func(a adapter.Authenticator) []any { return []any{a.UserID, a.ProviderAccountID} })},
		{Name: "sessions with one expiry are listed once", Fails: []string{"DATA-15"},
			Fault: "The list of a user's sessions is a map keyed by expiry.",
			mem: on(listSessions, func(ctx context.Context, m *mem, id string) ([]adapter.Session, error) {
				all, err := m.ListSessionsByUserID(ctx, id)
				slices.SortFunc(all, byExpiry)
				return slices.CompactFunc(all, func(a, b adapter.Session) bool { return a.Expires.Equal(b.Expires) }), err
			})},
	}
}

// asDoubles decodes JSON into Go's default types and encodes it again.
func asDoubles(details json.RawMessage) json.RawMessage {
	var x any
	if json.Unmarshal(details, &x) != nil {
		return details
	}
	again, err := json.Marshal(x)
	if err != nil {
		return details
	}
	return again
}

// uniqueBeginning refuses a record whose key is longer than size and begins with the
// same bytes as an earlier one.
func uniqueBeginning[A, T any](size int, key func(A) string, create func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	var known sync.Map
	return func(ctx context.Context, a A) (result T, err error) {
		if k := key(a); len(k) > size {
			if _, taken := known.LoadOrStore(k[:size], true); taken {
				return result, conflict("the key")
			}
		}
		return create(ctx, a)
	}
}

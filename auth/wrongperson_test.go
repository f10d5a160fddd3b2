package auth_test

import (
	"context"
	"encoding/json"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
)

// TestPinnedTenantRefusesOtherTenants: a configuration that names one tenant
// refuses people of other tenants, although the metadata is the same for all
// tenants.
func TestPinnedTenantRefusesOtherTenants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, configured, token string
		signsIn                 bool
	}{
		{"account of the tenant", "t-1", "t-1", true},
		{"account of another tenant", "t-1", "t-2", false},
		{"every tenant is wanted", "common", "t-2", true},
		{"domain whose tenant is not known", "contoso.example", "t-2", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(p *idp, _ *auth.Config, o *auth.OAuth) {
				o.Issuer, o.WellKnown = p.URL+"/"+c.configured+"/v2.0", p.URL+"/.well-known/openid-configuration"
				p.metadata = func(m map[string]any) { m["issuer"] = p.URL + "/{tenantid}/v2.0" }
				p.claims = func(m map[string]any) { m["iss"], m["tid"] = p.URL+"/"+c.token+"/v2.0", c.token }
			})
			b := newBrowser(t, s)
			end := b.get(callback(s.idp.authorize(t, s.start(b, "/auth/signin/idp"))))
			if c.signsIn {
				end.wantLocation(t, origin)
				b.wantSession("ada@example.com")
				return
			}
			s.refused(t, end, "issued by another issuer")
			b.wantNoSession()
		})
	}
}

// TestUserInfoRequestOfAnotherPerson: UserInfo.Request must return the profile
// of the person whom the ID token names; otherwise nobody signs in.
func TestUserInfoRequestOfAnotherPerson(t *testing.T) {
	t.Parallel()
	same := func(p auth.UserInfoRequest) auth.Profile {
		return auth.Profile{"sub": p.Claims["sub"], "name": "Ada", "email": "ada@example.com"}
	}
	for _, c := range []struct {
		name    string
		kind    auth.ProviderType
		profile func(auth.UserInfoRequest) auth.Profile
		log     string // empty if the sign-in succeeds
	}{
		{"same person", auth.TypeOIDC, same, ""},
		{"another person", auth.TypeOIDC, func(auth.UserInfoRequest) auth.Profile { return auth.Profile{"sub": "eve", "email": "eve@example.com"} }, "another person"},
		{"nobody named", auth.TypeOIDC, func(auth.UserInfoRequest) auth.Profile { return auth.Profile{"id": "7"} }, "sub is missing"},
		{"sub is null", auth.TypeOIDC, func(auth.UserInfoRequest) auth.Profile { return auth.Profile{"sub": nil, "id": "7"} }, "another person"},
		{"plain OAuth, same person", auth.TypeOAuth, same, ""},
		{"plain OAuth, another person", auth.TypeOAuth, func(auth.UserInfoRequest) auth.Profile { return auth.Profile{"sub": "eve"} }, "another person"},
		{"plain OAuth with IDs of its own", auth.TypeOAuth, func(auth.UserInfoRequest) auth.Profile {
			return auth.Profile{"id": "7", "name": "Ada", "email": "ada@example.com"}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(_ *idp, _ *auth.Config, o *auth.OAuth) {
				o.Type, o.UserInfoOnly = c.kind, c.kind == auth.TypeOIDC
				if c.kind == auth.TypeOAuth {
					o.Checks = []auth.Check{auth.CheckPKCE, auth.CheckState}
				}
				o.UserInfo.Request = func(_ context.Context, p auth.UserInfoRequest) (auth.Profile, error) {
					profile := c.profile(p)
					p.Claims["sub"] = "eve" // a copy
					return profile, nil
				}
			})
			b := newBrowser(t, s)
			end := b.get(callback(s.idp.authorize(t, s.start(b, "/auth/signin/idp"))))
			if c.log == "" {
				end.wantLocation(t, origin)
				b.wantSession("ada@example.com")
				return
			}
			s.refused(t, end, c.log)
			b.wantNoSession()
		})
	}
}

// TestEmptyChecksAreNotNone: an empty list means the default checks. Only a
// list with CheckNone alone turns the checks off.
func TestEmptyChecksAreNotNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		checks []auth.Check
		sent   bool
	}{
		{"no list", nil, true}, {"empty list", []auth.Check{}, true}, {"none", []auth.Check{auth.CheckNone}, false},
	} {
		s := newSite(t, func(_ *idp, _ *auth.Config, o *auth.OAuth) { o.Checks = c.checks })
		u, err := url.Parse(s.start(newBrowser(t, s), "/auth/signin/idp"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"state", "code_challenge"} {
			if got := u.Query().Has(name); got != c.sent {
				t.Errorf("%s: %s is sent: %v, want %v", c.name, name, got, c.sent)
			}
		}
	}
	_, err := auth.New(auth.Config{Secret: []string{secret}, Providers: []auth.Provider{&auth.OAuth{
		ID: "idp", ClientID: "a", ClientSecret: "b", Issuer: "https://idp.example", Checks: []auth.Check{auth.CheckNone, auth.CheckState},
	}}})
	if err == nil || !strings.Contains(err.Error(), "CheckNone and other checks") {
		t.Errorf("none beside state: %v", err)
	}
}

// TestTwoPeopleWithOneNumber: a number to which the IDs of several people are
// rounded identifies none of them.
func TestTwoPeopleWithOneNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[any]string{
		float64(1<<53 - 1): "9007199254740991", float64(1 << 53): "", float64(-1 << 53): "", 1e300: "", math.Inf(1): "", 7.0: "7", 1.5: "1.5",
		json.Number("9007199254740993"): "9007199254740993", int64(1<<62 + 1): "4611686018427387905", true: "",
	} {
		if got := (auth.Profile{"id": v}).String("id"); got != want {
			t.Errorf("%v (%T) is %q, want %q", v, v, got, want)
		}
	}
	if got := (auth.Profile{"id": math.NaN()}).String("id"); got != "" {
		t.Errorf("NaN is %q", got)
	}
	people := map[string]bool{}
	for _, id := range []string{"9007199254740992", "9007199254740993"} {
		var p map[string]any
		if err := json.Unmarshal([]byte(`{"id":`+id+`}`), &p); err != nil { // without UseNumber, as a hook may do
			t.Fatal(err)
		}
		people[auth.Profile(p).String("id")] = true
	}
	if !people[""] || len(people) != 1 {
		t.Errorf("two people are %v, want nobody", people)
	}
}

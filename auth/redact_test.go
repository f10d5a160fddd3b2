package auth_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// printed are all exported types of the two packages that can hold a text.
var printed = map[string][]any{
	".": {
		auth.Account{}, auth.TokenSet{}, auth.Handler{}, auth.Callbacks{}, auth.SignInParams{}, auth.LinkParams{}, auth.SignInDecision{},
		auth.RedirectParams{}, auth.JWTParams{}, auth.SessionParams{}, auth.Config{}, auth.SessionConfig{}, auth.JWTConfig{}, auth.Pages{},
		auth.Theme{}, auth.Cookies{}, auth.CookieConfig{}, auth.Experimental{}, auth.Error{}, auth.Events{}, auth.CreateUserEvent{},
		auth.UpdateUserEvent{}, auth.LinkAccountEvent{}, auth.ReleaseEmailEvent{}, auth.SignInEvent{}, auth.SignInFailedEvent{},
		auth.PasskeyClonedEvent{}, auth.PasskeyBackupEvent{}, auth.SignOutEvent{}, auth.SessionEvent{}, auth.Attempt{}, auth.TooManyAttempts{}, auth.Passkey{},
		auth.Form{}, auth.Field{}, auth.Style{}, auth.Credentials{}, auth.Email{}, auth.VerificationRequest{}, auth.Message{}, auth.OAuth{},
		auth.AuthorizationEndpoint{}, auth.TokenEndpoint{}, auth.TokenRequest{}, auth.UserInfoEndpoint{}, auth.UserInfoRequest{},
		auth.ClientMetadata{}, auth.WebAuthn{}, auth.WebAuthnAnswer{}, auth.WebAuthnExpectation{}, auth.RelyingParty{}, auth.Result{},
		auth.SignInOptions{}, auth.Session{}, auth.SessionInfo{}, auth.User{}, auth.Profile{}, auth.Password{}, auth.SignInData{}, auth.SignInWay{}, auth.SignInLink{},
	},
	"adapter": {
		adapter.User{}, adapter.Account{}, adapter.AccountKey{}, adapter.AccountUpdate{}, adapter.Session{}, adapter.SessionAndUser{},
		adapter.SessionUpdate{}, adapter.VerificationToken{}, adapter.VerificationTokenKey{}, adapter.Authenticator{}, adapter.UserUpdate{},
		adapter.Change[string]{}, adapter.Swept{}, adapter.Password{},
	},
	"jwt": {jwt.Claims{}, jwt.Cookie{}, jwt.DecodeParams{}, jwt.EncodeParams{}, jwt.GetTokenParams{}, jwt.Keys{}},
}

// shown are the fields that may be printed: names, addresses, settings that are
// no secrets. A type without a field means all of its fields.
var shown = strings.Fields(`
	Account.Provider Account.Type Account.UserID RedirectParams Pages Theme Cookies CookieConfig Experimental Error Passkey Field Style
	Password.UserID AccountKey Authenticator UserUpdate VerificationToken.Identifier VerificationTokenKey.Identifier AccountUpdate.Provider
	SessionConfig.Strategy Credentials RelyingParty SessionInfo WebAuthn SignInWay SignInLink
	User.ID User.Name User.Email User.Image
	Email.ID OAuth.ID ClientMetadata.TokenEndpointAuthMethod ClientMetadata.KeyID TokenRequest.Provider.ID TokenRequest.RedirectURI
	UserInfoRequest.Provider.ID Message.Subject Attempt.Provider Attempt.Type
	SignInFailedEvent.Provider SignInFailedEvent.Type SignInFailedEvent.Reason SignInFailedEvent.Err PasskeyClonedEvent.CredentialID PasskeyBackupEvent.CredentialID
	JWTParams.Trigger SessionParams.Trigger Session.User.ID
	Cookie.Name DecodeParams.Salt EncodeParams.Salt GetTokenParams.CookieName`)

// data are the types whose JSON programs store or send, so encoding/json writes
// all their fields.
var data = strings.Fields(`
	Account TokenSet User Session Profile Form Message Claims Cookie DecodeParams EncodeParams AccountUpdate SessionAndUser SessionUpdate
	VerificationToken VerificationTokenKey Password`)

// who matches the fields of a user and an account that may be printed in every
// type that has them.
var who = regexp.MustCompile(`^(SignInParams|LinkParams|JWTParams|SessionParams|SessionAndUser|Session|\w+Event)\.(UserID|User\.ID|Session\.User\.ID|Session\.UserID|Account\.(Provider|Type|UserID))$`)

func mayShow(path string) bool {
	for _, s := range shown {
		if path == s || strings.HasPrefix(path, s+".") {
			return true
		}
	}
	return who.MatchString(path)
}

// fill puts a canary, which is the path of the field, into every field that can
// hold a text.
func fill(v reflect.Value, path string, depth int) {
	if depth > 6 || !v.CanSet() {
		return
	}
	canary := "<canary " + path + ">"
	switch v.Interface().(type) {
	case *http.Request:
		v.Set(reflect.ValueOf(&http.Request{
			Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: "app.example.com", Path: "/auth/x", RawQuery: "code=" + canary}, RequestURI: canary,
			Header: http.Header{"Cookie": {canary}, "Authorization": {canary}}, Form: url.Values{"x": {canary}}, Body: http.NoBody,
		}))
		return
	case *http.Client:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(canary)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(canary))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path, depth+1)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, path, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path, depth+1)
	case reflect.Interface:
		for _, x := range []any{canary, errors.New(canary), ecKey()} {
			if reflect.TypeOf(x).Implements(v.Type()) {
				v.Set(reflect.ValueOf(x))
				return
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := path + "." + v.Type().Field(i).Name
			if v.Type().Field(i).Anonymous {
				name = path
			}
			fill(v.Field(i), name, depth+1)
		}
	}
}

var canaryPath = regexp.MustCompile(`canary ([\w.]+)`)

// TestNothingPrintsSecrets prints every exported type of the packages auth,
// auth/adapter and auth/jwt, by itself and inside another type, in all the ways
// in which programs print by accident. It looks for texts that must not be
// printed.
func TestNothingPrintsSecrets(t *testing.T) {
	t.Parallel()
	key := regexp.MustCompile(`D:\S{8,}`).FindString(fmt.Sprintf("%+v", ecKey())) // the number
	for dir, list := range printed {
		known := map[string]bool{}
		for _, zero := range list {
			name, _, _ := strings.Cut(reflect.TypeOf(zero).Name(), "[")
			known[name] = true
			p := reflect.New(reflect.TypeOf(zero))
			fill(p.Elem(), name, 0)
			if k, ok := p.Interface().(*jwt.Keys); ok { // holds keys only after its first use
				must(jwt.Encode(jwt.EncodeParams{Secrets: []string{"<canary Keys.secret>"}, Keys: k}))(t)
			}
			values := map[string]any{"a pointer": p.Interface()}
			if name != "Keys" { // must not be copied
				values["a value"] = p.Elem().Interface()
			}
			for what, v := range values {
				inside := struct{ Field any }{v}
				outputs := map[string]string{}
				for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
					outputs[verb] = fmt.Sprintf(verb, v)
					outputs[verb+" inside"] = fmt.Sprintf(verb, inside)
					outputs[verb+" in a list"] = fmt.Sprintf(verb, []any{v})
				}
				var b bytes.Buffer
				slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", v, slog.Group("g", "v", v))
				outputs["slog JSON"] = b.String()
				b.Reset()
				slog.New(slog.NewTextHandler(&b, nil)).Info("x", "v", v, slog.Group("g", "v", v), "inside", inside)
				outputs["slog text"] = b.String()
				if !slices.Contains(data, name) {
					b.Reset()
					slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "list", []any{v}, "inside", inside)
					outputs["slog JSON inside"] = b.String()
				}
				for how, output := range outputs {
					for _, m := range canaryPath.FindAllStringSubmatch(output, -1) {
						assert.Truef(t, mayShow(m[1]), "%s of %s by %s shows %s", what, name, how, m[1])
					}
					assert.NotContainsf(t, output, key, "%s of %s by %s shows the private key", what, name, how)
				}
			}
		}
		for name := range exportedStructs(t, dir) {
			assert.Truef(t, known[name], "%s: the type %s is exported and not in this test", dir, name)
		}
	}
}

// exportedStructs are the exported struct types that a directory declares.
func exportedStructs(t *testing.T, dir string) map[string]bool {
	t.Helper()
	pkgs := must(parser.ParseDir(gotoken.NewFileSet(), dir, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0))(t) //nolint:staticcheck // no build tags here
	names := map[string]bool{}
	for _, p := range pkgs {
		ast.Inspect(p, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() {
				if _, ok := s.Type.(*ast.StructType); ok {
					names[s.Name.Name] = true
				}
			}
			return true
		})
	}
	require.Truef(t, len(names) >= 4, "%s has only %d exported structs", dir, len(names))
	return names
}

// TestCoreChoosesWhatEventsShow: events and arguments that the core made say who
// they are about, in logs and in package fmt. Others show nothing.
func TestCoreChoosesWhatEventsShow(t *testing.T) {
	t.Parallel()
	var got []any
	s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.Callbacks.SignIn = allowing(func(p auth.SignInParams) { got = append(got, p) })
		c.Events.CreateUser = on(func(e auth.CreateUserEvent) { got = append(got, e) })
		c.Events.LinkAccount = on(func(e auth.LinkAccountEvent) { got = append(got, e) })
		c.Events.SignIn = on(func(e auth.SignInEvent) { got = append(got, e, &e) })
	})
	s.signIn(newBrowser(t, s)).wantLocation(t, origin)
	require.Lenf(t, got, 5, "%d values, want 5", len(got))
	for i, v := range append(got, auth.SignInEvent{User: &auth.User{ID: "user-1"}}) {
		var b bytes.Buffer
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", v)
		text := must(json.Marshal([]any{v}))(t)
		for how, printed := range map[string]string{"slog": b.String(), "fmt": fmt.Sprintf("%+v", v), "in JSON": string(text)} {
			if made := i < len(got); made != strings.Contains(printed, "user") || made == strings.Contains(printed, "[redacted]") {
				t.Errorf("%T by %s: %s", v, how, printed)
			}
		}
	}
}

package limit

import (
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/limit/counts"
)

// Kind is what is attempted.
type Kind string

// The kinds of attempts.
const (
	// Password is a sign-in with a password or with other credentials.
	Password Kind = "password"
	// Mail is a request for a mail.
	Mail Kind = "mail"
	// Code is a code of a mail that was typed.
	Code Kind = "code"
	// Passkey is a request for a ceremony with a passkey, or the answer to one: a
	// sign-in has two.
	Passkey Kind = "passkey"
	// OAuth is the beginning of a sign-in at a provider.
	OAuth Kind = "oauth"
	// SignUp is the registration of a new user with a passkey.
	SignUp Kind = "sign-up"
)

var kinds = []Kind{Password, Mail, Code, Passkey, OAuth, SignUp}

// kindOf returns the kind of an attempt, and the account that it is for.
func kindOf(a *auth.Attempt) (Kind, string) {
	switch {
	case a.Type == auth.TypeEmail && a.Code:
		return Code, a.Identifier
	case a.Type == auth.TypeEmail:
		return Mail, a.Identifier
	case a.Type == auth.TypeWebAuthn && a.Form.Get("action") == "register" && a.Form.Get("email") != "":
		return SignUp, a.Form.Get("email")
	case a.Type == auth.TypeWebAuthn:
		return Passkey, a.Form.Get("email")
	case a.Type == auth.TypeOAuth || a.Type == auth.TypeOIDC:
		return OAuth, ""
	}
	return Password, a.Identifier
}

// Rule says when attempts that are counted together may be made.
type Rule = counts.Rule

// Rules are the rules for one kind of attempts. An attempt must keep each of them.
type Rules struct {
	// Client is for all attempts of one client: an IPv4 address, or a network of
	// IPv6 of 64 bits. Eight times as many are free for a network of 48 bits, and
	// they are forgotten eight times as fast.
	Client Rule
	// Account is for all attempts for one account, and Both for those of one client
	// for one account.
	Account, Both Rule
	// Known is for a browser that signed in to the account before. The other rules
	// do not count for it.
	Known Rule
}

func rule(free int, wait, maxWait, forget time.Duration) Rule {
	return Rule{Free: free, Wait: wait, MaxWait: maxWait, Forget: forget}
}

// Defaults returns the rules that a Limiter has for a kind of attempts.
func Defaults(k Kind) Rules {
	switch k {
	case Mail:
		return Rules{
			Client:  rule(30, 5*time.Second, 5*time.Minute, time.Minute),
			Account: rule(3, time.Minute, 10*time.Minute, 10*time.Minute),
			Known:   rule(5, 30*time.Second, 10*time.Minute, 10*time.Minute),
		}
	case Code: // the core counts the codes of each mail and address, too
		return Rules{
			Client:  rule(50, time.Second, time.Minute, 10*time.Second),
			Account: rule(20, time.Second, time.Minute, time.Minute),
			Known:   rule(10, time.Second, 5*time.Minute, time.Minute),
		}
	case Passkey:
		return Rules{Client: rule(200, time.Second, time.Minute, 2*time.Second)}
	case OAuth:
		return Rules{Client: rule(100, time.Second, time.Minute, 2*time.Second)}
	case SignUp:
		return Rules{
			Client:  rule(20, 5*time.Second, 5*time.Minute, time.Minute),
			Account: rule(5, 10*time.Second, 5*time.Minute, 5*time.Minute),
		}
	}
	return Rules{
		Client:  rule(100, time.Second, time.Minute, 6*time.Second),
		Account: rule(10, time.Second, 5*time.Minute, 10*time.Minute),
		Both:    rule(5, time.Second, 15*time.Minute, 15*time.Minute),
		Known:   rule(10, time.Second, 15*time.Minute, 5*time.Minute),
	}
}

// of48 returns the rule for the network of 48 bits of a client, from the rule for a
// client.
func of48(r Rule) Rule {
	r.Free, r.Forget = 8*r.Free, r.Forget/8
	return r
}

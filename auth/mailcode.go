package auth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// A mail may have a code that a person types, beside the link. The link is the
// code and a handle of 128 random bits, so both spend one verification token.
// The handle is also in a sealed cookie of the browser that asked for the mail,
// and a code counts only together with it: in any other browser a code is
// nothing, right or wrong. The tries are counted in the store, for each mail and
// for each address. If they are used up, codes are refused; links work on.

// typedCode returns a code as it is compared: a person may type or paste it with
// space or hyphens, and with the digits of any script.
func typedCode(s string) string {
	typed := strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c), unicode.Is(unicode.Cf, c), unicode.Is(unicode.Pd, c):
			return -1
		case c > unicode.MaxASCII && unicode.IsDigit(c):
			return digitOf(c)
		}
		return c
	}, norm.NFKC.String(s))
	return cmp.Or(typed, s)
}

// digitOf returns the ASCII digit with the value of a digit. The ten digits of a
// script are one range, which begins with zero (The Unicode Standard, section
// 4.6).
func digitOf(c rune) rune {
	for _, r := range unicode.Nd.R16 {
		if c >= rune(r.Lo) && c <= rune(r.Hi) {
			return '0' + (c-rune(r.Lo))%10
		}
	}
	for _, r := range unicode.Nd.R32 {
		if c >= rune(r.Lo) && c <= rune(r.Hi) {
			return '0' + (c-rune(r.Lo))%10
		}
	}
	return c
}

// codeMaxAge is how long the mail of a provider with Email.Code is valid, and
// codeDigits the length of its code.
const (
	codeMaxAge = 10 * time.Minute
	codeDigits = 6
)

// newCode makes a code of Email.Code.
func newCode(random io.Reader) (string, error) {
	n, err := rand.Int(random, big.NewInt(1_000_000))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%0*d", codeDigits, n), nil
}

// mayBeCode reports whether a typed text can be a code of the provider. What
// can't be one costs no try.
func (p *Email) mayBeCode(text string) bool {
	typed := typedCode(text)
	return !p.Code || len(typed) == codeDigits && strings.Trim(typed, "0123456789") == ""
}

// maxTypedCode is the length in bytes of the longest code that is read.
const maxTypedCode = 256

// guessOf returns the code that a request brings, if it brings one. A short text
// in place of the token of a link is a code, too.
func (p *Email) guessOf(r *request, token string) (code string, ok bool) {
	if p.GenerateVerificationToken == nil && !p.Code {
		return "", false
	}
	if code = r.form.Get("code"); code == "" {
		code = token
	}
	if code == "" || code == token && textBits(code) >= secureBits {
		return "", false
	}
	return code, true
}

// askedFor returns the mails that the browser asked for at a provider, to one
// address: the typed one, or if it is empty, that of the newest mail.
func (p *Email) askedFor(codes []began.Code, typed string) []began.Code {
	codes = slices.DeleteFunc(codes, func(c began.Code) bool { return c.Provider != p.id() })
	if len(codes) == 0 {
		return nil
	}
	address := codes[0].Address
	if typed != "" {
		address = typed
		if normal, err := normalize(p, typed); err == nil {
			address = normal
		}
	}
	return slices.DeleteFunc(codes, func(c began.Code) bool {
		return c.Address != address && !sameAddress(c.Address, address)
	})
}

// asksFor reports whether the handle of one of the mails ends a link.
func asksFor(codes []began.Code, link string) bool {
	return slices.ContainsFunc(codes, func(c began.Code) bool {
		at := len(link) - len(c.Handle)
		return at >= 0 && hmac.Equal([]byte(link[at:]), []byte(c.Handle))
	})
}

// callbackCode serves a code. A code that is wrong, or that the browser did not
// ask for, ends no link.
func (e *engine) callbackCode(ctx context.Context, r *request, p *Email, code, address string) (*Result, error) {
	asked := p.askedFor(e.begun(r).Codes(), address)
	if address == "" && len(asked) > 0 {
		address = asked[0].Address
	}
	switch {
	case r.method == http.MethodPost:
		if err := r.needCSRF(); err != nil {
			return nil, err
		}
	case address == "":
		return nil, &Error{Type: ErrVerification, Message: "the link has no address"}
	case len(asked) == 0 || speculative(r.http.Header) || fromElsewhere(r.http.Header):
		return e.confirmLinkPage(r, p, code, address), nil
	}
	attempt := Attempt{Provider: p.id(), Type: TypeEmail, Code: true}
	if len(asked) > 0 { // otherwise the code is of no address, whatever was typed
		attempt.Identifier = asked[0].Address
	}
	if err := e.limit(ctx, r, attempt); err != nil {
		return nil, err
	}
	if p.Code && len(asked) > 0 && r.form.Get("code") != "" {
		r.retryURL = p.verifyURL(e.url(r, ActionVerifyRequest))
	}
	if !p.mayBeCode(code) {
		return nil, errNoCode
	}
	r.attempt = "code " + p.id() + " " + attempt.Identifier + " " + typedCode(code)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout)
	defer cancel()
	invite, err := useCode(ctx, e.store, p.verificationKeys(e.csrfKeys), asked, code)
	if err != nil {
		return nil, err
	}
	return e.signInInvited(ctx, r, p, invite)
}

// fromElsewhere reports whether a page of another site made the browser send the
// request. Such a page must not use up tries.
func fromElsewhere(h http.Header) bool {
	foreign := func(v string) bool { return v != "none" && v != "same-origin" }
	return slices.ContainsFunc(h.Values("Sec-Fetch-Site"), foreign)
}

var errWrongCode = &Error{Type: ErrVerification, Message: "the code is wrong, has expired or was used, was asked for in another browser, or too many wrong codes were tried"}

var errNoCode = &Error{Type: ErrVerification, Message: "what was typed is not a code of six digits"}

// useCode spends the token of the mail whose code this is. Each comparison is
// counted before it is made, so that concurrent ones are all counted.
func useCode(ctx context.Context, s *store, keys wire.HashKeys, asked []began.Code, code string) (*adapter.VerificationToken, error) {
	typed := typedCode(code)
	if len(typed) > maxTypedCode || strings.TrimSpace(typed) == "" {
		return nil, errWrongCode
	}
	var counted []adapter.VerificationTokenKey
	for _, c := range asked {
		wrong, ok, err := s.takeTry(ctx, c)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		counted = append(counted, wrong)
		invite, err := spendToken(ctx, s, keys, c.Address, typed+c.Handle)
		switch {
		case err == nil:
			s.giveBack(ctx, counted)
			return invite, nil
		case !errors.Is(err, ErrVerification):
			return nil, err
		}
	}
	return nil, errWrongCode
}

package providers_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// service plays a mail service, as the transport of its HTTP client.
type service struct {
	status int
	err    error
	// hangs: it never answers. endless: its response never ends.
	hangs, endless bool
	last           *http.Request
	body           []byte
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.last = r
	if s.err != nil {
		return nil, s.err
	}
	if s.hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	var err error
	if s.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	if s.endless {
		return &http.Response{StatusCode: s.status, Request: r, Header: http.Header{}, Body: io.NopCloser(zeros{})}, nil
	}
	return answer(r, s.status, "application/json", "the service repeats "+r.Header.Get("Authorization"))
}

// zeros is a reader of endless zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// sender returns the function of a completed mail provider that sends a mail.
func sender(t *testing.T, id string, s *service, opts ...providers.Option) (auth.VerificationRequest, func(context.Context, auth.VerificationRequest) error) {
	t.Helper()
	opts = append([]providers.Option{
		providers.WithAPIKey("key-1"), providers.WithHTTPClient(&http.Client{Transport: s}),
		providers.WithMessage(func(auth.VerificationRequest) (auth.Message, error) {
			return auth.Message{Subject: "Hello", Text: "text", HTML: "<p>html</p>"}, nil
		}),
	}, opts...)
	p := must(providers.ByID(id, opts...))(t)
	email, ok := p.(*auth.Email)
	require.Truef(t, ok, "%s is a %T", id, p)
	require.NoError(t, email.Complete(email))
	return auth.VerificationRequest{
		Identifier: "ada@example.com", URL: "https://app.example/link", Provider: *email, Request: httptest.NewRequest(http.MethodPost, "/", nil),
	}, email.SendVerificationRequest
}

func TestMailServices(t *testing.T) {
	t.Parallel()
	from := providers.WithFrom("Example <no-reply@mail.example>")
	for _, c := range []struct {
		id, url, header, value string
		opts                   []providers.Option
		body                   string
	}{
		{"forwardemail", "https://api.forwardemail.net/v1/emails", "Authorization", "Basic a2V5LTE6", []providers.Option{from},
			`{"from":"\"Example\" <no-reply@mail.example>","to":"ada@example.com","subject":"Hello","html":"<p>html</p>","text":"text"}`},
		{"loops", "https://app.loops.so/api/v1/transactional", "Authorization", "Bearer key-1", []providers.Option{providers.WithTemplate("t-1")},
			`{"transactionalId":"t-1","email":"ada@example.com","dataVariables":{"url":"https://app.example/link"}}`},
		{"postmark", "https://api.postmarkapp.com/email", "X-Postmark-Server-Token", "key-1", []providers.Option{from},
			`{"From":"\"Example\" <no-reply@mail.example>","To":"ada@example.com","Subject":"Hello","TextBody":"text","HtmlBody":"<p>html</p>","MessageStream":"outbound"}`},
		{"resend", "https://api.resend.com/emails", "Authorization", "Bearer key-1", []providers.Option{from},
			`{"from":"\"Example\" <no-reply@mail.example>","to":"ada@example.com","subject":"Hello","html":"<p>html</p>","text":"text"}`},
		{"sendgrid", "https://api.sendgrid.com/v3/mail/send", "Authorization", "Bearer key-1", []providers.Option{from},
			`{"personalizations":[{"to":[{"email":"ada@example.com"}]}],"from":{"email":"no-reply@mail.example","name":"Example"},"subject":"Hello","content":[{"type":"text/plain","value":"text"},{"type":"text/html","value":"<p>html</p>"}]}`},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			s := &service{status: http.StatusAccepted}
			request, send := sender(t, c.id, s, c.opts...)
			require.NoError(t, send(t.Context(), request))
			assert.Truef(t, s.last.Method == http.MethodPost && s.last.URL.String() == c.url && s.last.Header.Get(c.header) == c.value,
				"the request is %s %s with %q", s.last.Method, s.last.URL, s.last.Header.Get(c.header))
			assert.JSONEq(t, c.body, string(s.body))
		})
	}
}

func TestMailgun(t *testing.T) {
	t.Parallel()
	s := &service{status: http.StatusOK}
	request, send := sender(t, "mailgun", s, providers.WithFrom("no-reply@mail.example"), providers.WithRegion("EU"))
	require.NoError(t, send(t.Context(), request))
	assert.Equal(t, "https://api.eu.mailgun.net/v3/mail.example/messages", s.last.URL.String(), "the request goes to")
	user, password, _ := s.last.BasicAuth()
	assert.Truef(t, user == "api" && password == "key-1", "the request is of %q", user)
	assert.Equal(t, map[string]string{
		"from": `"Mailgun" <no-reply@mail.example>`, "to": "ada@example.com", "subject": "Hello", "html": "<p>html</p>", "text": "text",
	}, s.fields(t), "the form")
}

// services returns the mail services that are called over HTTP, each with the
// options that it needs.
func services() map[string][]providers.Option {
	all := map[string][]providers.Option{"loops": {providers.WithTemplate("t-1")}}
	for _, id := range []string{"forwardemail", "mailgun", "postmark", "resend", "sendgrid"} {
		all[id] = []providers.Option{providers.WithFrom("no-reply@mail.example")}
	}
	return all
}

// wantSafe checks that an error contains neither the key nor the link.
func wantSafe(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err, "the mail is sent")
	for _, secret := range []string{"key-1", "a2V5", "/link"} {
		assert.NotContainsf(t, err.Error(), secret, "the error tells a secret: %v", err)
	}
}

// TestMailFailures: a failure at the service is an error without key and link.
func TestMailFailures(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]service{
		"refused":     {status: http.StatusForbidden},
		"failing":     {status: http.StatusInternalServerError},
		"redirected":  {status: http.StatusFound},
		"unreachable": {err: errors.New("no route")},
		"flooding":    {status: http.StatusOK, endless: true},
	} {
		for id, opts := range services() {
			t.Run(name+"/"+id, func(t *testing.T) {
				t.Parallel()
				s := broken
				request, send := sender(t, id, &s, opts...)
				wantSafe(t, send(t.Context(), request))
			})
		}
	}
}

// TestMailTimeout: a service that never answers delays a sign-in for ten
// seconds, or less if the caller waits less.
func TestMailTimeout(t *testing.T) {
	t.Parallel()
	for id, opts := range services() {
		synctest.Test(t, func(t *testing.T) {
			request, send := sender(t, id, &service{hangs: true}, opts...)
			start := time.Now()
			wantSafe(t, send(t.Context(), request))
			assert.Equal(t, 10*time.Second, time.Since(start), id)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start = time.Now()
			err := send(ctx, request)
			wantSafe(t, err)
			assert.Equal(t, time.Second, time.Since(start), id)
			assert.ErrorIs(t, err, context.DeadlineExceeded, id)
		})
	}
}

// TestMailInjection: no address and no text adds a header, another recipient or
// another request. The service gets no request.
func TestMailInjection(t *testing.T) {
	t.Parallel()
	to := func(identifier string) func(*auth.VerificationRequest) {
		return func(v *auth.VerificationRequest) { v.Identifier = identifier }
	}
	message := func(m auth.Message) func(*auth.VerificationRequest) {
		return func(v *auth.VerificationRequest) {
			v.Provider.Message = func(auth.VerificationRequest) (auth.Message, error) { return m, nil }
		}
	}
	for name, change := range map[string]func(*auth.VerificationRequest){
		"recipient of two lines":       to("a@b.example\r\nBcc: c@d.example"),
		"recipient with a bare feed":   to("a@b.example\nBcc: c@d.example"),
		"recipient with a bare return": to("a@b.example\rBcc: c@d.example"),
		"recipient with a zero byte":   to("a@b.example\x00"),
		"two recipients":               to("a@b.example, c@d.example"),
		"two recipients, semicolon":    to("a@b.example;c@d.example"),
		"recipient with a name":        to("Ada <a@b.example>"),
		"group":                        to("friends:a@b.example;"),
		"recipient with a comment":     to("a@b.example (Ada)"),
		"no recipient":                 to(""),
		"subject of two lines":         message(auth.Message{Subject: "a\r\nBcc: x@y.example", Text: "t"}),
		"subject with a bare feed":     message(auth.Message{Subject: "a\nBcc: x@y.example", Text: "t"}),
		"subject with a bare return":   message(auth.Message{Subject: "a\rBcc: x@y.example", Text: "t"}),
	} {
		for id, opts := range services() {
			t.Run(name+"/"+id, func(t *testing.T) {
				t.Parallel()
				s := &service{status: http.StatusOK}
				request, send := sender(t, id, s, opts...)
				change(&request)
				err := send(t.Context(), request)
				assert.Nil(t, s.last, "the service is asked")
				wantSafe(t, err)
			})
		}
	}
}

// TestMailSenders: New reports a sender that is not a single address, and a key
// that is not a single line.
func TestMailSenders(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"a@b.example\r\nBcc: c@d.example", "a@b.example, c@d.example", "nobody", "Eve\r\n <a@b.example>"} {
		for id := range services() {
			if id == "loops" { // has its sender in the template
				continue
			}
			p := must(providers.ByID(id, providers.WithAPIKey("key-1"), providers.WithFrom(from)))(t)
			assert.ErrorContainsf(t, configure(p), "sender", "%s with the sender %q", id, from)
		}
	}
	for id, opts := range services() {
		p := must(providers.ByID(id, append(opts, providers.WithAPIKey("key-1\r\nX-Injected: y"))...))(t)
		err := configure(p)
		require.ErrorContainsf(t, err, "API key", "%s with a key of two lines", id)
		assert.NotContains(t, err.Error(), "key-1", id)
	}
}

// TestMailText: HTML and hostile text arrive unchanged, in their place. Without
// WithMessage the default message is used. A mail may have only one form of
// text.
func TestMailText(t *testing.T) {
	t.Parallel()
	hostile := auth.Message{Subject: `"}, "to": "x@y.example`, Text: "a\r\n.\r\nRCPT TO:<x@y.example>\r\n--boundary--", HTML: `</script>"}]}`}
	for id, opts := range services() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := &service{status: http.StatusOK}
			request, send := sender(t, id, s, opts...)
			ask := func(m auth.Message) map[string]string {
				t.Helper()
				request.Provider.Message = func(auth.VerificationRequest) (auth.Message, error) { return m, nil }
				require.NoError(t, send(t.Context(), request))
				return s.fields(t)
			}
			if id == "loops" {
				got := ask(hostile)
				assert.Truef(t, got["dataVariables.url"] == request.URL && got["email"] == request.Identifier && len(got) == 3,
					"the fields are %q", got)
				return
			}
			names := cmp.Or(map[string][3]string{
				"postmark": {"Subject", "TextBody", "HtmlBody"}, "sendgrid": {"subject", "content.0.value", "content.1.value"},
			}[id], [3]string{"subject", "text", "html"})
			got := ask(hostile)
			assert.Truef(t, got[names[0]] == hostile.Subject && got[names[1]] == hostile.Text && got[names[2]] == hostile.HTML,
				"the fields are %q", got)
			got = ask(auth.Message{Subject: "s", Text: "t"})
			assert.Truef(t, got[names[1]] == "t" && got[names[2]] == "", "the fields of a mail without HTML are %q", got)
			request.Provider.Message = func(auth.VerificationRequest) (auth.Message, error) { return auth.Message{Subject: "s"}, nil }
			assert.Error(t, send(t.Context(), request), "a mail without text is sent")
			request.Provider.Message = nil
			require.NoError(t, send(t.Context(), request))
			assert.Equal(t, "Sign in to app.example", s.fields(t)[names[0]], "the default mail")
			assert.Contains(t, s.fields(t)[names[1]], request.URL, "the default mail")
		})
	}
}

// fields returns the texts of the last request, by their path.
func (s *service) fields(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	if kind, params, err := mime.ParseMediaType(s.last.Header.Get("Content-Type")); err == nil && kind == "multipart/form-data" {
		form := must(multipart.NewReader(bytes.NewReader(s.body), params["boundary"]).ReadForm(1 << 16))(t)
		for name, values := range form.Value {
			all[name] = strings.Join(values, "|")
		}
		return all
	}
	var body any
	require.NoError(t, json.Unmarshal(s.body, &body))
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(path+"."+name, member)
			}
		case []any:
			for i, element := range v {
				walk(fmt.Sprintf("%s.%d", path, i), element)
			}
		case string:
			all[strings.TrimPrefix(path, ".")] = v
		}
	}
	walk("", body)
	return all
}

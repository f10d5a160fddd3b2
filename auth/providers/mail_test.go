package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// service is the transport of a mail service.
type service struct {
	status int
	err    error
	last   *http.Request
	body   []byte
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.last = r
	if s.err != nil {
		return nil, s.err
	}
	var err error
	if s.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return answer(r, s.status, "application/json", "the service repeats "+r.Header.Get("Authorization"))
}

// sender is the completed function of a mail provider.
func sender(t *testing.T, id string, s *service, opts ...providers.Option) (auth.VerificationRequest, func(context.Context, auth.VerificationRequest) error) {
	t.Helper()
	p, err := providers.ByID(id, append(opts, providers.WithAPIKey("key-1"), providers.WithHTTPClient(&http.Client{Transport: s}))...)
	if err != nil {
		t.Fatal(err)
	}
	email, ok := p.(*auth.Email)
	if !ok {
		t.Fatalf("%s is a %T", id, p)
	}
	if err := email.Complete(email); err != nil {
		t.Fatal(err)
	}
	email.Message = func(auth.VerificationRequest) (auth.Message, error) {
		return auth.Message{Subject: "Hello", Text: "text", HTML: "<p>html</p>"}, nil
	}
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
			if err := send(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if s.last.Method != http.MethodPost || s.last.URL.String() != c.url || s.last.Header.Get(c.header) != c.value {
				t.Errorf("the request is %s %s with %q", s.last.Method, s.last.URL, s.last.Header.Get(c.header))
			}
			var got, want any
			if err := errors.Join(json.Unmarshal(s.body, &got), json.Unmarshal([]byte(c.body), &want)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("the body is\n%s, want\n%s (%v)", s.body, c.body, err)
			}
		})
	}
}

func TestMailgun(t *testing.T) {
	t.Parallel()
	s := &service{status: http.StatusOK}
	request, send := sender(t, "mailgun", s, providers.WithFrom("no-reply@mail.example"), providers.WithRegion("EU"))
	if err := send(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if got, want := s.last.URL.String(), "https://api.eu.mailgun.net/v3/mail.example/messages"; got != want {
		t.Errorf("the request goes to %s, want %s", got, want)
	}
	if user, password, _ := s.last.BasicAuth(); user != "api" || password != "key-1" {
		t.Errorf("the request is of %q", user)
	}
	_, params, err := mime.ParseMediaType(s.last.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(strings.NewReader(string(s.body)), params["boundary"]).ReadForm(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"from": {`"Mailgun" <no-reply@mail.example>`}, "to": {"ada@example.com"}, "subject": {"Hello"}, "html": {"<p>html</p>"}, "text": {"text"}}
	if !reflect.DeepEqual(form.Value, want) {
		t.Errorf("the form is %v, want %v", form.Value, want)
	}
}

// TestMailFailures: what goes wrong is an error without key and link, and no
// text becomes a header.
func TestMailFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		service service
		change  func(*auth.VerificationRequest)
	}{
		{"refused", service{status: http.StatusForbidden}, nil},
		{"redirected", service{status: http.StatusFound}, nil},
		{"unreachable", service{err: errors.New("no route")}, nil},
		{"subject of two lines", service{status: http.StatusOK}, func(v *auth.VerificationRequest) {
			v.Provider.Message = func(auth.VerificationRequest) (auth.Message, error) {
				return auth.Message{Subject: "a\r\nBcc: x@y.example"}, nil
			}
		}},
		{"two recipients", service{status: http.StatusOK}, func(v *auth.VerificationRequest) { v.Identifier = "a@b.example, c@d.example" }},
		{"recipient of two lines", service{status: http.StatusOK}, func(v *auth.VerificationRequest) { v.Identifier = "a@b.example\r\nBcc: c@d.example" }},
		{"recipient with a name", service{status: http.StatusOK}, func(v *auth.VerificationRequest) { v.Identifier = "Ada <a@b.example>" }},
	} {
		for _, id := range []string{"forwardemail", "mailgun", "postmark", "resend", "sendgrid"} {
			t.Run(c.name+"/"+id, func(t *testing.T) {
				t.Parallel()
				s := c.service
				request, send := sender(t, id, &s, providers.WithFrom("no-reply@mail.example"))
				if c.change != nil {
					c.change(&request)
				}
				err := send(t.Context(), request)
				if err == nil {
					t.Fatal("the mail is sent")
				}
				for _, secret := range []string{"key-1", "a2V5", "/link"} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("the error tells a secret: %v", err)
					}
				}
				if c.change != nil && s.last != nil {
					t.Error("the service is asked")
				}
			})
		}
	}
}

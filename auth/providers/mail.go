package providers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/mail"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
)

// mailRow is one mail provider. Without a request function it sends by SMTP.
type mailRow struct {
	id, name, constructor string
	// request makes the request that sends a mail.
	request func(letter) (*http.Request, error)
	options []option
}

// letter is a mail with what the service needs to send it.
type letter struct {
	auth.Message
	from             *mail.Address
	to, link         string
	key, name        string
	template, region string
}

// mailTable returns the mail providers, ordered by ID.
func mailTable() []mailRow {
	from := option{name: "from", required: true}
	key := option{name: "apiKey", required: true}
	server := option{name: "server", required: true}
	return []mailRow{
		{id: "email", name: "Email", constructor: "SMTP", options: []option{server, from}},
		{id: "forwardemail", name: "Forward Email", constructor: "ForwardEmail", request: forwardEmail, options: []option{key, from}},
		{id: "loops", name: "Loops", constructor: "Loops", request: loops, options: []option{key, {name: "template", required: true}}},
		{id: "mailgun", name: "Mailgun", constructor: "Mailgun", request: mailgun, options: []option{key, from, {name: "region", fallback: "US"}}},
		{id: "nodemailer", name: "Nodemailer", constructor: "Nodemailer", options: []option{server, from}},
		{id: "postmark", name: "Postmark", constructor: "Postmark", request: postmark, options: []option{key, from}},
		{id: "resend", name: "Resend", constructor: "Resend", request: resend, options: []option{key, from}},
		{id: "sendgrid", name: "SendGrid", constructor: "SendGrid", request: sendGrid, options: []option{key, from}},
	}
}

// provider makes the provider of a row.
func (r *mailRow) provider(opts []Option) *auth.Email {
	s := collect(opts)
	p := &auth.Email{ID: r.id, Name: r.name, From: s.named["from"], Server: s.named["server"], APIKey: s.named["apiKey"]}
	p.Complete = func(p *auth.Email) error { return r.complete(p, s) }
	for _, change := range s.mail {
		change(p)
	}
	return p
}

func (r *mailRow) complete(p *auth.Email, s *settings) error {
	if p.SendVerificationRequest != nil {
		return nil
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		if !slices.ContainsFunc(r.options, func(o option) bool { return o.name == name }) {
			problems = append(problems, fmt.Errorf("%s does not apply to this provider", how(name)))
		}
	}
	if s.clientID != "" || s.clientSecret != "" || len(s.params) > 0 || s.apple != nil || len(s.oauth) > 0 {
		problems = append(problems, errors.New("this provider takes no OAuth options"))
	}
	values := map[string]string{"from": p.From, "server": p.Server, "apiKey": p.APIKey, "template": s.named["template"], "region": s.named["region"]}
	for _, o := range r.options {
		values[o.name] = cmp.Or(values[o.name], o.fallback)
		if values[o.name] == "" && o.required {
			hint := how(o.name)
			if o.name == "apiKey" {
				hint += " or AUTH_" + variable(p.ID) + "_KEY"
			}
			problems = append(problems, fmt.Errorf("the option %s is missing; set it with %s", o.name, hint))
		}
	}
	var from *mail.Address
	if p.From != "" {
		var err error
		if from, err = mail.ParseAddress(p.From); err != nil {
			problems = append(problems, errors.New("the sender is not an e-mail address"))
		}
	}
	if strings.ContainsAny(p.APIKey, "\r\n\x00") {
		problems = append(problems, errors.New("the API key has more than one line"))
	}
	if region := values["region"]; region != "" && region != "US" && region != "EU" {
		problems = append(problems, fmt.Errorf("WithRegion is %q, want US or EU", region))
	}
	if r.request != nil {
		client := oauth.Transport(s.client)
		p.SendVerificationRequest = func(ctx context.Context, v auth.VerificationRequest) error {
			l := letter{from: from, to: v.Identifier, link: v.URL, key: v.Provider.APIKey, name: v.Provider.Name, template: values["template"], region: values["region"]}
			return r.send(ctx, client, l, v)
		}
	}
	return errors.Join(problems...)
}

// send writes the mail, and the service sends it. Its errors contain neither
// the key nor text from the service.
func (r *mailRow) send(ctx context.Context, client *http.Client, l letter, v auth.VerificationRequest) error {
	write := v.Provider.Message
	if write == nil {
		write = auth.EmailMessage
	}
	var err error
	if l.Message, err = write(v); err != nil {
		return err
	}
	if strings.ContainsAny(l.Subject, "\r\n\x00") {
		return errors.New("the subject has more than one line")
	}
	if l.Text == "" && l.HTML == "" && r.id != "loops" {
		return errors.New("the mail has no text")
	}
	to, err := mail.ParseAddress(l.to)
	if err != nil || to.Name != "" || strings.ContainsAny(l.to, "\r\n\x00<>,;") {
		return errors.New("the recipient is not an e-mail address")
	}
	hr, err := r.request(l)
	if err != nil {
		return err
	}
	hr.Header.Set("Accept", "application/json")
	status, _, err := do(client, hr.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("%s: %w", r.id, err)
	}
	switch status {
	case http.StatusBadRequest, http.StatusNotAcceptable, http.StatusUnprocessableEntity: // what is sent differs in the recipient only
		return fmt.Errorf("%s: the service answered with status %d: %w", r.id, status, auth.ErrRecipientRefused)
	}
	if status < 200 || status > 299 {
		return fmt.Errorf("%s: the service answered with status %d", r.id, status)
	}
	return nil
}

// post makes a request with a JSON body.
func post(endpoint, header, value string, body any) (*http.Request, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, endpoint, bytes.NewReader(encoded)) //nolint:noctx // send adds the context
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(header, value)
	return r, nil
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// object is a JSON object.
type object = map[string]any

// with adds to a body the forms of the text that are not empty.
func (l letter) with(body object, text, html string) object {
	if l.Text != "" {
		body[text] = l.Text
	}
	if l.HTML != "" {
		body[html] = l.HTML
	}
	return body
}

func forwardEmail(l letter) (*http.Request, error) {
	return post("https://api.forwardemail.net/v1/emails", "Authorization", basic(l.key, ""),
		l.with(object{"from": l.from.String(), "to": l.to, "subject": l.Subject}, "text", "html"))
}

// loops sends the link alone, because the text is a template at the service.
func loops(l letter) (*http.Request, error) {
	return post("https://app.loops.so/api/v1/transactional", "Authorization", "Bearer "+l.key,
		object{"transactionalId": l.template, "email": l.to, "dataVariables": object{"url": l.link}})
}

// mailgun takes the sending domain from the sender.
func mailgun(l letter) (*http.Request, error) {
	from := *l.from
	from.Name = cmp.Or(from.Name, l.name)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, field := range [][2]string{{"from", from.String()}, {"to", l.to}, {"subject", l.Subject}, {"html", l.HTML}, {"text", l.Text}} {
		if field[1] == "" {
			continue
		}
		if err := form.WriteField(field[0], field[1]); err != nil {
			return nil, err
		}
	}
	if err := form.Close(); err != nil {
		return nil, err
	}
	host := "api.mailgun.net"
	if l.region == "EU" {
		host = "api.eu.mailgun.net"
	}
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	r, err := http.NewRequest(http.MethodPost, "https://"+host, &body) //nolint:noctx // send adds the context
	if err != nil {
		return nil, err
	}
	r.URL = r.URL.JoinPath("v3", domain, "messages")
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Authorization", basic("api", l.key))
	return r, nil
}

func postmark(l letter) (*http.Request, error) {
	return post("https://api.postmarkapp.com/email", "X-Postmark-Server-Token", l.key, l.with(object{
		"From": l.from.String(), "To": l.to, "Subject": l.Subject, "MessageStream": "outbound",
	}, "TextBody", "HtmlBody"))
}

func resend(l letter) (*http.Request, error) {
	return post("https://api.resend.com/emails", "Authorization", "Bearer "+l.key,
		l.with(object{"from": l.from.String(), "to": l.to, "subject": l.Subject}, "text", "html"))
}

// sendGrid puts the text before the HTML, as SendGrid requires.
func sendGrid(l letter) (*http.Request, error) {
	from := object{"email": l.from.Address}
	if l.from.Name != "" {
		from["name"] = l.from.Name
	}
	var content []object
	for _, part := range [][2]string{{"text/plain", l.Text}, {"text/html", l.HTML}} {
		if part[1] != "" {
			content = append(content, object{"type": part[0], "value": part[1]})
		}
	}
	return post("https://api.sendgrid.com/v3/mail/send", "Authorization", "Bearer "+l.key, object{
		"personalizations": []object{{"to": []object{{"email": l.to}}}}, "from": from, "subject": l.Subject, "content": content,
	})
}

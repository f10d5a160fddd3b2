package providers

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// Option changes a provider of the catalogue. auth.New reports an option that
// the provider does not take.
type Option func(*settings)

// settings are the values of the options.
type settings struct {
	clientID, clientSecret string
	params                 url.Values
	// named are the values of the options that only some providers take.
	named  map[string]string
	apple  *appleKey
	client *http.Client
	oauth  []func(*auth.OAuth)
	mail   []func(*auth.Email)
}

func collect(opts []Option) *settings {
	s := &settings{params: url.Values{}, named: map[string]string{}}
	for _, o := range opts {
		o(s)
	}
	return s
}

func named(name, value string) Option { return func(s *settings) { s.named[name] = value } }

// WithClient gives client ID and secret. The defaults are the environment
// variables AUTH_<ID>_ID and AUTH_<ID>_SECRET.
func WithClient(id, secret string) Option {
	return func(s *settings) { s.clientID, s.clientSecret = id, secret }
}

// WithScope replaces the default scopes. They are sent with blanks between
// them. For a provider that expects commas, give one text with commas.
func WithScope(scopes ...string) Option {
	return WithParam("scope", strings.Join(scopes, " "))
}

// WithParam sets a parameter of the authorization URL.
func WithParam(name, value string) Option {
	return func(s *settings) { s.params.Set(name, value) }
}

// WithOptions changes the fields of the provider that have no option of their
// own. When change is called, ID, Name and Type are set. Fields that it leaves
// empty are filled in later.
func WithOptions(change func(*auth.OAuth)) Option {
	return func(s *settings) { s.oauth = append(s.oauth, change) }
}

// WithMailOptions changes the fields of a mail provider, as WithOptions does.
func WithMailOptions(change func(*auth.Email)) Option {
	return func(s *settings) { s.mail = append(s.mail, change) }
}

// WithMessage writes the mails, including the subject, in place of
// auth.EmailMessage. A subject of more than one line is refused. Loops does not
// use the message: its text is a template at the service.
func WithMessage(write func(auth.VerificationRequest) (auth.Message, error)) Option {
	return WithMailOptions(func(p *auth.Email) { p.Message = write })
}

// WithHTTPClient gives the client that calls the provider or the mail service.
func WithHTTPClient(client *http.Client) Option { return func(s *settings) { s.client = client } }

// WithIssuer gives the issuer, or the address of the server, as an https URL.
// The default is the environment variable AUTH_<ID>_ISSUER.
func WithIssuer(issuer string) Option { return named("issuer", issuer) }

// WithDomain gives the issuer as the root of a domain, such as
// example.eu.auth0.com.
func WithDomain(domain string) Option { return named("issuer", "https://"+domain) }

// WithTenant names the tenant: for Microsoft Entra ID its GUID, common,
// organizations or consumers; for FusionAuth its ID.
func WithTenant(tenant string) Option { return named("tenant", tenant) }

// WithBaseURL gives the address of your own instance of a service that is
// usually hosted, such as GitHub Enterprise Server or GitLab, or the address of
// one of its data centres.
func WithBaseURL(base string) Option { return named("baseURL", strings.TrimSuffix(base, "/")) }

// WithAPIKey gives the API key of a mail service or of Bungie. For a mail
// service the default is the environment variable AUTH_<ID>_KEY.
func WithAPIKey(key string) Option { return named("apiKey", key) }

// WithAPIVersion names the version of the API of Foursquare or VK.
func WithAPIVersion(version string) Option { return named("apiVersion", version) }

// WithAccountID gives the account of NetSuite, which is part of its host names.
func WithAccountID(id string) Option { return named("accountID", id) }

// WithUserInfoURL gives the URL of the RESTlet of NetSuite that returns the user.
func WithUserInfoURL(endpoint string) Option { return named("userInfoURL", endpoint) }

// WithAgentID gives the number of the WeCom application.
func WithAgentID(id string) Option { return named("agentID", id) }

// WithShop names the Shopify shop whose staff sign in: example for
// example.myshopify.com.
func WithShop(name string) Option { return named("shop", name) }

// WithPlatform chooses the kind of WeChat application: OfficialAccount or
// WebsiteApp.
func WithPlatform(platform string) Option { return named("platform", platform) }

// WithConnection names the connection of WorkOS. Without it, each sign-in
// request has to name connection, organization, domain or provider.
func WithConnection(id string) Option { return named("connection", id) }

// WithPhotoSize gives the edge length, in pixels, of the picture that is
// requested from Microsoft Entra ID: 48 (default), 64, 96, 120, 240, 360, 432,
// 504 or 648. The picture becomes part of the session as a data URI. With zero
// no picture is requested.
func WithPhotoSize(pixels int) Option { return named("photoSize", strconv.Itoa(pixels)) }

// WithPKCE uses PKCE with Slack. The Slack app must have opted in to PKCE
// first: Slack refuses a code_challenge from other apps.
// https://docs.slack.dev/authentication/using-pkce
func WithPKCE() Option { return named("pkce", "on") }

// WithDangerousUsernameKey keys Pinterest accounts on the username, as Auth.js
// does. Use it only during a conversion: a person who takes a username that
// another person gave up signs in as that other person. To convert, call
// https://api.pinterest.com/v5/user_account with the access token of each
// stored account, replace the ProviderAccountID of the account by the id in the
// response, and remove the option. If the access token of an account is not
// valid any more, its owner has to link the account again.
func WithDangerousUsernameKey() Option { return named("usernameKey", "on") }

// WithAppleKey gives the key that signs a new client secret of Apple for each
// sign-in. It replaces a client secret that expires. privateKey is the content
// of the .p8 file.
func WithAppleKey(teamID, keyID, privateKey string) Option {
	return func(s *settings) { s.apple = &appleKey{teamID, keyID, privateKey} }
}

// WithFrom gives the sender of mails, such as "Example <no-reply@example.com>".
func WithFrom(from string) Option { return named("from", from) }

// WithServer gives the SMTP server; see auth.Email.Server.
func WithServer(server string) Option { return named("server", server) }

// WithTemplate gives the ID of the mail template at Loops, which must use the
// variable url.
func WithTemplate(id string) Option { return named("template", id) }

// WithRegion chooses the region of a service: for Mailgun US (default) or EU,
// for Lark CN (default), which is Feishu, or Global.
func WithRegion(region string) Option { return named("region", region) }

// how says how to set an option.
func how(name string) string {
	return map[string]string{
		"issuer": "WithIssuer", "tenant": "WithTenant", "baseURL": "WithBaseURL", "apiKey": "WithAPIKey", "apiVersion": "WithAPIVersion",
		"accountID": "WithAccountID", "userInfoURL": "WithUserInfoURL", "agentID": "WithAgentID", "shop": "WithShop", "platform": "WithPlatform", "connection": "WithConnection",
		"photoSize": "WithPhotoSize", "appleKey": "WithAppleKey", "from": "WithFrom", "server": "WithServer", "template": "WithTemplate", "region": "WithRegion",
		"pkce": "WithPKCE", "usernameKey": "WithDangerousUsernameKey",
	}[name]
}

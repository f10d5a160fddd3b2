package guide

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/examples/devprovider"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var linkInMail = regexp.MustCompile(`http://\S+`)

// TestChangeOfAddress changes an address, and tries the link in other sessions, twice,
// with another address, and after the address was changed in another way.
func TestChangeOfAddress(t *testing.T) {
	store := memory.New()
	mails := map[string]string{}
	site := visitor.Serve(t, func(site string) (http.Handler, error) {
		dev := newDev(t, site+"/dev", site+"/auth/callback/"+devprovider.ID)
		gate := newAuth(t, auth.Config{Adapter: store, Providers: []auth.Provider{dev.OAuth()}, Secret: []string{secret}, URL: site})
		change := &addresses{gate, store, site, func(_ context.Context, to, text string) error { mails[to] = text; return nil }}
		mux := http.NewServeMux()
		mux.Handle("/auth/", gate)
		mux.Handle("/dev/", dev)
		mux.Handle("/", change.routes())
		return mux, nil
	})
	post := func(c *client, page, path string, fields url.Values) (body string) {
		_, body = c.fetch(http.MethodGet, page, nil)
		if found := tokenOnPage.FindStringSubmatch(body); found != nil {
			fields.Set("csrfToken", found[1])
		}
		_, body = c.fetch(http.MethodPost, site+path, fields)
		return body
	}
	ask := func(c *client, address string) (link string) {
		body := post(c, site+"/address", "/address/ask", url.Values{"address": {address}})
		require.Containsf(t, body, "Open the link", "after asking for %s", address)
		return linkInMail.FindString(mails[strings.ToLower(address)])
	}
	confirm := func(c *client, link string) string {
		u, err := url.Parse(link)
		require.NoError(t, err)
		return post(c, link, "/address/confirm", u.Query())
	}
	address := func() string {
		u, err := store.GetUserByAccount(t.Context(), adapter.AccountKey{Provider: devprovider.ID, ProviderAccountID: "grace"})
		require.Truef(t, err == nil && u != nil, "%v %v", u, err)
		assert.NotNil(t, u.EmailVerified, "the address has no proof")
		return u.Email
	}

	asked, other, stranger := newClient(t), newClient(t), newClient(t)
	asked.signIn(site, devprovider.ID, "grace")
	other.signIn(site, devprovider.ID, "grace")
	stranger.signIn(site, devprovider.ID, "emmy")

	link := ask(asked, "Grace.Hopper@Example.com")
	for name, c := range map[string]*client{"another session of the user": other, "another user": stranger} {
		assert.Containsf(t, confirm(c, link), "not of this session", "%s confirms", name)
	}
	assert.Contains(t, confirm(asked, strings.Replace(link, "grace.hopper", "victim", 1)), "not of this session",
		"with another address")
	if body := confirm(asked, link); !strings.Contains(body, "was changed") || address() != "grace.hopper@example.com" {
		t.Errorf("the link: %s; the address is %s", body, address())
	}
	assert.Equal(t, "Your address was changed.", mails["grace@example.com"], "the old address was not told")
	assert.Contains(t, confirm(asked, link), "was used", "the link again")
	assert.Contains(t, post(asked, link, "/address/confirm", url.Values{"address": {"x"}}), "no address", "no address")
	body := post(stranger, site+"/nothing", "/address/ask", url.Values{"address": {"x@example.com"}})
	assert.Contains(t, body, "post from a page", "without a token")

	link = ask(stranger, "grace.hopper@example.com") // somebody has it, and the answer does not tell
	assert.Contains(t, confirm(stranger, link), "can't be used", "an address of another user")
}

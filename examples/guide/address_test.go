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
)

var linkInMail = regexp.MustCompile(`http://\S+`)

// TestChangeOfAddress changes an address, and tries the link in other sessions, twice,
// with another address, and after the address was changed in another way.
func TestChangeOfAddress(t *testing.T) {
	store := memory.New()
	mails := map[string]string{}
	site := serve(t, func(site string) http.Handler {
		dev := newDev(t, site+"/dev", site+"/auth/callback/"+devprovider.ID)
		gate := newAuth(t, auth.Config{Adapter: store, Providers: []auth.Provider{dev.OAuth()}, Secret: []string{secret}, URL: site})
		change := &addresses{gate, store, site, func(_ context.Context, to, text string) error { mails[to] = text; return nil }}
		mux := http.NewServeMux()
		mux.Handle("/auth/", gate)
		mux.Handle("/dev/", dev)
		mux.Handle("/", change.routes())
		return mux
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
		if !strings.Contains(body, "Open the link") {
			t.Fatalf("after asking for %s: %s", address, body)
		}
		return linkInMail.FindString(mails[strings.ToLower(address)])
	}
	confirm := func(c *client, link string) string {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		return post(c, link, "/address/confirm", u.Query())
	}
	address := func() string {
		u, err := store.GetUserByAccount(t.Context(), adapter.AccountKey{Provider: devprovider.ID, ProviderAccountID: "grace"})
		if err != nil || u == nil {
			t.Fatal(u, err)
		}
		if u.EmailVerified == nil {
			t.Error("the address has no proof")
		}
		return u.Email
	}

	asked, other, stranger := newClient(t), newClient(t), newClient(t)
	asked.signIn(site, devprovider.ID, "grace")
	other.signIn(site, devprovider.ID, "grace")
	stranger.signIn(site, devprovider.ID, "emmy")

	link := ask(asked, "Grace.Hopper@Example.com")
	for name, c := range map[string]*client{"another session of the user": other, "another user": stranger} {
		if body := confirm(c, link); !strings.Contains(body, "not of this session") {
			t.Errorf("%s confirms: %s", name, body)
		}
	}
	if body := confirm(asked, strings.Replace(link, "grace.hopper", "victim", 1)); !strings.Contains(body, "not of this session") {
		t.Errorf("with another address: %s", body)
	}
	if body := confirm(asked, link); !strings.Contains(body, "was changed") || address() != "grace.hopper@example.com" {
		t.Errorf("the link: %s; the address is %s", body, address())
	}
	if mails["grace@example.com"] != "Your address was changed." {
		t.Error("the old address was not told")
	}
	if body := confirm(asked, link); !strings.Contains(body, "was used") {
		t.Errorf("the link again: %s", body)
	}
	if body := post(asked, link, "/address/confirm", url.Values{"address": {"x"}}); !strings.Contains(body, "no address") {
		t.Errorf("no address: %s", body)
	}
	if body := post(stranger, site+"/nothing", "/address/ask", url.Values{"address": {"x@example.com"}}); !strings.Contains(body, "post from a page") {
		t.Errorf("without a token: %s", body)
	}

	link = ask(stranger, "grace.hopper@example.com") // somebody has it, and the answer does not tell
	if body := confirm(stranger, link); !strings.Contains(body, "can't be used") {
		t.Errorf("an address of another user: %s", body)
	}
}

package pages

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// Theme is the part of the configuration that sets the look.
type Theme struct {
	// Name is the name of the site; the host is shown if it is empty. Origin is that
	// of the site, if it is fixed.
	Name, Origin string
	// ColorScheme is auto, light or dark.
	ColorScheme string
	Logo        string
	BrandColor  string
	ButtonText  string
}

// Looks is the look of the pages of one configuration, in all its languages. It
// is made once.
type Looks struct {
	look      Look   // without language and site
	name      string // of the site, if it is the same for every request
	languages Languages
}

// Look is the look of the page that answers one request.
type Look struct {
	// Scheme is auto, light or dark.
	Scheme string
	// Logo is the URL of a picture, or empty.
	Logo string
	// Style is the style sheet.
	Style template.HTML
	// Site is the name of the site.
	Site string
	// T has the sentences. Direction is ltr or rtl.
	T         *texts.Texts
	Direction string

	classes map[string]string // of the buttons, by provider ID
	policy  string
	caching Caching
}

// For returns the look of the page that answers a request.
func (l *Looks) For(r *http.Request) *Look {
	look := l.look
	look.Site = cmp.Or(l.name, host(wire.RequestOrigin(r)))
	look.T, look.caching = l.languages.of(r)
	look.Direction = "ltr"
	if look.T.RightToLeft() {
		look.Direction = "rtl"
	}
	return &look
}

//go:embed style.css
var styleSheet string

// Brand has the colours of the button of a provider.
type Brand struct {
	Color string
	// Text is the colour of the text; empty means one that can be read on Color.
	Text string
}

// NewLooks makes the looks of a theme, with the brands of providers by their IDs.
// It leaves out texts that are not CSS colours; see Color.
func NewLooks(theme Theme, brands map[string]Brand, languages Languages) *Looks {
	l := Look{Scheme: theme.ColorScheme, Logo: theme.Logo, classes: map[string]string{}}
	if l.Scheme != "light" && l.Scheme != "dark" {
		l.Scheme = "auto"
	}
	var css strings.Builder
	css.WriteString(styleSheet)
	if Color(theme.BrandColor) {
		fmt.Fprintf(&css, ":root{--brand-color:%s;--button-text-color:%s}\n", theme.BrandColor, readableOn(theme.BrandColor, "#fff"))
	}
	if Color(theme.ButtonText) {
		fmt.Fprintf(&css, ":root{--button-text-color:%s}\n", theme.ButtonText)
	}
	byBrand := map[Brand]string{}
	for _, id := range slices.Sorted(maps.Keys(brands)) {
		brand := brands[id]
		if !Color(brand.Color) {
			continue
		}
		if !Color(brand.Text) {
			brand.Text = readableOn(brand.Color, "#fff")
		}
		class, ok := byBrand[brand]
		if !ok {
			class = "brand-" + strconv.Itoa(len(byBrand)+1)
			byBrand[brand] = class
			fmt.Fprintf(&css, ".%s{--provider-brand-color:%s;--provider-text-color:%s}\n", class, brand.Color, brand.Text)
		}
		l.classes[id] = class
	}
	hash := sha256.Sum256([]byte(css.String()))
	l.Style = template.HTML("<style>" + css.String() + "</style>") // only our style sheet and checked colours
	l.policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'; " +
		// A button posts to us and we redirect the browser to a provider.
		// Browsers apply form-action to that redirect too.
		"form-action 'self' https: http://localhost:* http://127.0.0.1:*; " +
		"img-src 'self' https: data:; base-uri 'none'; frame-ancestors 'none'"
	return &Looks{l, cmp.Or(theme.Name, host(theme.Origin)), languages}
}

var color = regexp.MustCompile(`^(#[0-9a-fA-F]{3,4}|#[0-9a-fA-F]{6}|#[0-9a-fA-F]{8}|[a-zA-Z]{3,32}|(rgb|rgba|hsl|hsla|hwb|lab|lch|oklab|oklch)\([0-9a-z.,%/ +-]{1,64}\))$`)

// Color reports whether s is a CSS colour: a name, a number, or a function of
// numbers.
func Color(s string) bool { return color.MatchString(s) }

// readableOn returns white if its contrast to the background is high enough for
// text, and black if not. If the background is not a number, it returns other.
func readableOn(background, other string) string {
	hex := strings.TrimPrefix(background, "#")
	if hex == background {
		return other
	}
	if len(hex) < 6 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex[:6], 16, 32)
	if err != nil {
		return other
	}
	// Relative luminance and contrast of WCAG 2.2.
	part := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	if luminance := 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0); 1.05/(luminance+0.05) < 4.5 {
		return "#000"
	}
	return "#fff"
}

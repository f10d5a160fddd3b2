package pages

import (
	"html/template"
	"unicode"
	"unicode/utf8"
)

// marks are the pictures on the buttons of well-known providers, by ID. They are
// part of the page, so that no other site is asked for them.
var marks = map[string]string{
	"github": `<path fill="currentColor" d="M12 .3a12 12 0 0 0-3.8 23.4c.6.1.8-.3.8-.6v-2c-3.3.7-4-1.6-4-1.6-.6-1.4-1.4-1.8-1.4-1.8-1-.7.1-.7.1-.7` +
		` 1.2.1 1.9 1.2 1.9 1.2 1 1.8 2.8 1.3 3.5 1 0-.8.4-1.3.7-1.6-2.7-.3-5.5-1.3-5.5-6 0-1.2.5-2.3 1.3-3.1-.2-.4-.6-1.6 0-3.2 0 0 1-.3 3.4 1.2` +
		`a11.5 11.5 0 0 1 6 0c2.3-1.5 3.3-1.2 3.3-1.2.6 1.6.2 2.8 0 3.2.9.8 1.3 1.9 1.3 3.2 0 4.6-2.8 5.6-5.5 5.9.5.4.9 1 .9 2.2v3.3` +
		`c0 .3.1.7.8.6A12 12 0 0 0 12 .3"/>`,
	"google": `<rect width="24" height="24" rx="6" fill="#fff"/><g transform="translate(4 4) scale(.667)"><path fill="#4285f4" d="M23.5 12.3c0-.9-.1-1.5-.3-2.2H12v4.1h6.6c-.1 1.1-.9 2.7-2.5 3.8l3.8 3c2.3-2.1 3.6-5.2 3.6-8.7z"/>` +
		`<path fill="#34a853" d="M12 24c3.2 0 6-1.1 7.9-2.9l-3.8-3c-1 .7-2.4 1.2-4.1 1.2-3.1 0-5.8-2.1-6.7-5l-4 3C3.3 21.3 7.3 24 12 24z"/>` +
		`<path fill="#fbbc05" d="M5.3 14.3a7.400 7.400 0 0 1 0-4.700l-4-3a12 12 0 0 0 0 10.700z"/>` +
		`<path fill="#ea4335" d="M12 4.700c2.200 0 3.700 1 4.600 1.800l3.400-3.300A11.700 11.700 0 0 0 12 0C7.300 0 3.300 2.700 1.300 6.600l4 3c.9-2.900 3.600-4.900 6.700-4.900z"/></g>`,
	"microsoft-entra-id": `<path fill="#f25022" d="M1 1h10.500v10.500H1z"/><path fill="#7fba00" d="M12.500 1H23v10.500H12.500z"/>` +
		`<path fill="#00a4ef" d="M1 12.500h10.500V23H1z"/><path fill="#ffb900" d="M12.500 12.500H23V23H12.500z"/>`,
	"facebook": `<path fill="currentColor" d="M24 12a12 12 0 1 0-13.900 11.900v-8.400h-3V12h3V9.400c0-3 1.800-4.700 4.500-4.700 1.300 0 2.700.2 2.700.2v3h-1.500` +
		`c-1.500 0-2 .9-2 1.900V12h3.400l-.5 3.500h-2.800v8.400A12 12 0 0 0 24 12z"/>`,
}

// mark is the picture of a provider: its own, or the first letter of its name.
func mark(p Provider) template.HTML {
	drawn := marks[p.ID]
	if drawn == "" {
		letter, _ := utf8.DecodeRuneInString(p.Name)
		if !unicode.IsLetter(letter) && !unicode.IsDigit(letter) {
			return ""
		}
		drawn = `<rect x=".75" y=".75" width="22.5" height="22.5" rx="6" fill="none" stroke="currentColor" stroke-width="1.5"/>` +
			`<text x="12" y="17" text-anchor="middle" font-size="14" fill="currentColor">` + string(unicode.ToUpper(letter)) + `</text>`
	}
	return template.HTML(`<svg class="mark" width="24" height="24" viewBox="0 0 24 24" aria-hidden="true" focusable="false">` + drawn + `</svg>`) // ours, and one letter
}

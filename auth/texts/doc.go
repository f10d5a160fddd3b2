// Package texts has the sentences of the built-in pages and mails, one file for
// each language. A value in a sentence stands in braces: "Sign in to {site}". The
// English texts show which values a sentence has; a translation may put them in
// another place, or leave one out.
//
// To change a sentence, set it and leave the rest empty:
//
//	auth.Config{Texts: []texts.Texts{{Language: "en", SignOut: texts.SignOut{Button: "Log off"}}}}
//
// An empty sentence is that of the shipped texts of the language, or else the
// English one. A language that is not shipped is added in the same way. What is
// shown to developers, such as logs and JSON messages, is always English.
package texts

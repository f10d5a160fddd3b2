package texts

// Texts are the sentences of all pages and mails in one language.
type Texts struct {
	// Language is the BCP 47 tag of the language, such as de or pt-BR. It also
	// says which plural forms there are, and from which side the pages are written.
	Language string

	Common        Common
	SignIn        SignIn
	Password      Password
	Passkeys      Passkeys
	VerifyRequest VerifyRequest
	ConfirmLink   ConfirmLink
	HeldAddress   HeldAddress
	SignOut       SignOut
	Failure       Failure
	Refused       Refused
	Mail          Mail
}

// Common are texts of several pages.
type Common struct {
	// SignIn is a button or a link that leads to the sign-in.
	SignIn string
	// SignInWith is the button of a provider.
	SignInWith string
	// Continue leads to the next step, Cancel to where the person was.
	Continue, Cancel string
	// SignedInAs and NotSignedIn say who is signed in.
	SignedInAs, NotSignedIn string
	// Address is the label of a field for an e-mail address, and the name of a
	// provider of mails for which the site has none. AddressExample is shown in the
	// field.
	Address, AddressExample string
	// CheckMail is the heading of a page that says that a mail was sent.
	CheckMail string
	// Credentials is the name of a provider for which the site has none, and which is
	// no mail and no passkey. It is a value of SignInWith.
	Credentials string
}

// SignIn are the texts of the page to sign in.
type SignIn struct {
	Title string
	// Or stands between the buttons of providers and the address field.
	Or string
	// MailLink is the button that mails a link, MailLinkBy the one of a further
	// provider of mails.
	MailLink, MailLinkBy string
	// Passkey is the button that uses a passkey, CreatePasskey the one that makes
	// one for a new user.
	Passkey, CreatePasskey string
	// PasskeyNeedsScript stands where the button for passkeys would be.
	PasskeyNeedsScript string
	Errors             SignInErrors
}

// SignInErrors say why an earlier attempt to sign in did not succeed. None tells
// whether an account exists.
type SignInErrors struct {
	// OtherAccount: the sign-in at the provider was not accepted.
	OtherAccount string
	// NotLinked: the account belongs to somebody who signs in in another way.
	NotLinked string
	// PasskeyNotLinked: the same for a new passkey.
	PasskeyNotLinked string
	// MailNotSent and AddressRefused: no mail was sent.
	MailNotSent, AddressRefused string
	// Unavailable: the provider can't be reached.
	Unavailable string
	// NoForm: the form did not come from this browser. SignedInAs or NotSignedIn
	// follows.
	NoForm string
	// Credentials: what was typed is not right.
	Credentials string
	// SessionRequired: the page that was asked for needs a sign-in.
	SessionRequired string
	// TwoPeople: the browser had sessions of two people.
	TwoPeople string
	// Unknown: any other reason.
	Unknown string
}

// Password are the texts about passwords.
type Password struct {
	// Label, Current and New are labels of fields.
	Label, Current, New string
	// Forgotten and CreateAccount are links. StaySignedIn is a box to tick.
	Forgotten, CreateAccount, StaySignedIn string
	// Show is a box to tick, which shows what is typed.
	Show string
	// Rule says how long a password must be.
	Rule Plural
	// Wrong: what was typed is not right. CurrentWrong: the current password is
	// not.
	Wrong, CurrentWrong string
	// The reasons why a new password is not taken. Personal: it is made of the
	// address, the name or the site.
	TooShort, TooLong                 Plural
	Common, Personal, Breached, Equal string
	// NotText: it has a character that can't be typed.
	NotText string
	// SignUp, Reset, Choose, Change and Remove are the pages.
	SignUp, Reset, Choose, Change, Remove Form
	// Sent says, for every address, that a mail may come.
	Sent string
	// LinkInvalid: the link of a mail was used or is too old.
	LinkInvalid string
	// SignInAgain: a change needs a sign-in that is a few minutes old at most.
	SignInAgain string
	// None: there is no password to remove.
	None string
	// OnlyWay: the password may not be removed.
	OnlyWay string
}

// Form is a page with one form.
type Form struct{ Title, Text, Button string }

// Passkeys are the texts of the page with the passkeys of a user, and of the
// script.
type Passkeys struct {
	Title, None, Add string
	// Unnamed is shown in place of the name of a passkey, and of their provider.
	Unnamed           string
	Created, LastUsed string
	// BackedUp, Syncable and OneDevice say where a passkey is.
	BackedUp, Syncable, OneDevice string
	Name, Rename, Renamed         string
	Remove, RemoveNamed           string
	// RemoveTitle and RemoveText ask before a passkey is removed.
	RemoveTitle, RemoveText, Removed string
	Errors                           PasskeyErrors
}

// PasskeyErrors say why a passkey could not be used, made or changed.
type PasskeyErrors struct {
	// On the page with the passkeys.
	OnlyWay, NotFound, CannotChange, BadName, Unreadable, NotDone string
	// After an answer of an authenticator that was refused.
	Expired, Unknown, UserChanged, Cloned, BadAnswer, Refused string
	// Of the script.
	TooMany, NotUsed, NotCreated, Exists, WrongSite, NotSupported, Failed string
}

// VerifyRequest are the texts of the page that says that a mail was sent.
type VerifyRequest struct {
	// LinkSent is for a mail with a link, CodeSent for one with a code, too.
	LinkSent, CodeSent string
	// Code is the label of the field.
	Code string
	// WrongCode is followed by AskAgain, a link.
	WrongCode, AskAgain string
}

// ConfirmLink are the texts of the page that asks whether to use a mail's link.
type ConfirmLink struct{ Title, Warning, Who, Button string }

// HeldAddress are the texts of the page for a person whose address another user
// has.
type HeldAddress struct {
	Title, Text string
	// IsYou is followed by the ways to sign in. IsYouConfirms says that the address
	// is then confirmed.
	IsYou, IsYouConfirms string
	// WithPasskey, WithPassword, WithPasswordOf and OtherWays are buttons.
	WithPasskey, WithPassword, WithPasswordOf, OtherWays string
	// NotOffered is a way that the site no longer has.
	NotOffered string
	// NotYou explains the button Afresh.
	NotYou, Afresh string
}

// SignOut are the texts of the page to sign out.
type SignOut struct{ Title, Text, Button string }

// Failure are the texts of the page that says that something failed.
type Failure struct {
	// Title is for a failure that is not known.
	Title string
	// ServerTitle and Server are for a mistake of the site.
	ServerTitle, Server string
	DeniedTitle, Denied string
	// StoreTitle and Store are for a site that can't do its work at the moment.
	StoreTitle, Store string
	// NotFinished is the heading of a sign-in that was not finished. One of the
	// sentences below follows, then SignedInAs or NotSignedIn, then Again, or
	// AgainAsOther if somebody is signed in.
	NotFinished                         string
	LinkInvalid, Unavailable, NoAddress string
	TooLate                             string
	Again, AgainAsOther                 string
}

// Refused are the texts of a page for a request that was refused.
type Refused struct {
	// Title is for every page without a title of its own.
	Title string
	// TooManyTitle and TooMany are for too many attempts; Wait says how long to
	// wait.
	TooManyTitle, TooMany string
	Wait                  Span
	// ForeignTitle and Foreign are for a form of another site.
	ForeignTitle, Foreign string
	// Busy is for a server that has too much to do.
	Busy                             string
	TooLarge, CannotSend, Impossible string
}

// Mail are the texts of the mails. A subject has no value that a person typed.
type Mail struct {
	SignIn MailedLink
	// TypeCode stands before a code, which counts in the browser that asked for
	// the mail.
	TypeCode string
	// LinkValid and BothValid say how long the link counts, and the code.
	LinkValid, BothValid Span
	// AskedIn says in which browser the mail was asked for. UnknownBrowser and
	// UnknownSystem are values of it.
	AskedIn, UnknownBrowser, UnknownSystem string
	// NeverAsk warns people who ask for the code.
	NeverAsk string
	// SignUp proves the address of a new user, SignUpKnown goes to a user who
	// has an account already, Reset leads to a new password.
	SignUp, SignUpKnown, Reset MailedLink
	// PasswordChanged and PasswordRemoved tell what was done.
	PasswordChanged, PasswordRemoved Notice
}

// MailedLink is a mail with a link. Ignore is for a person who did not ask for
// it.
type MailedLink struct{ Subject, Text, Button, Ignore string }

// Notice is a mail without a link. NotYou says what to do if it was somebody
// else.
type Notice struct{ Subject, Text, NotYou string }

// Span are sentences with a length of time, n seconds, minutes or hours.
type Span struct{ Seconds, Minutes, Hours Plural }

// Plural is a sentence with a number n, in the plural forms that its language
// has (Unicode CLDR). An empty form is that of Other.
type Plural struct{ Zero, One, Two, Few, Many, Other string }

package texts

// English returns the English texts. They show the values of each sentence.
func English() Texts {
	return Texts{
		Language: "en",
		Common: Common{
			SignIn: "Sign in", SignInWith: "Sign in with {provider}",
			Continue: "Continue", Cancel: "Cancel",
			SignedInAs: "You are signed in as {person}.", NotSignedIn: "You are not signed in.",
			Address: "Email", AddressExample: "name@example.com",
			CheckMail:   "Check your email",
			Credentials: "Credentials",
		},
		SignIn: SignIn{
			Title: "Sign in to {site}", Or: "or",
			MailLink: "Email me a link", MailLinkBy: "Email me a link with {provider}",
			Passkey: "Sign in with a passkey", CreatePasskey: "Create a passkey",
			PasskeyNeedsScript: "To sign in with a passkey, turn on JavaScript.",
			Errors: SignInErrors{
				OtherAccount:     "Try signing in with a different account.",
				NotLinked:        "To confirm your identity, sign in with the same account you used originally.",
				PasskeyNotLinked: "Sign in the way you did before. Once you are signed in, you can add a passkey.",
				MailNotSent:      "The mail could not be sent.",
				AddressRefused: "The mail could not be sent. Check the address, and try again. " +
					"If the address is right, no mail can be sent at the moment.",
				Unavailable: "This way to sign in can’t be reached at the moment. Please try again, or sign in another way.",
				NoForm: "Nothing was done: the form did not come from this browser, or was open for too long. " +
					"Please try again.",
				Credentials:     "Sign in failed. Check the details you provided are correct.",
				SessionRequired: "Please sign in to access this page.",
				TwoPeople: "This browser had sessions of two people at once, so nobody was signed in. " +
					"Both sessions are over now. Please sign in again.",
				Unknown: "Unable to sign in.",
			},
		},
		Password: Password{
			Show:  "Show the password",
			Label: "Password", Current: "Current password", New: "New password",
			Forgotten: "Forgot your password?", CreateAccount: "Create an account", StaySignedIn: "Stay signed in",
			Rule: Plural{
				One:   "At least {n} character. Several words that you can remember are good.",
				Other: "At least {n} characters. Several words that you can remember are good.",
			},
			Wrong:        "The address or the password is not right.",
			CurrentWrong: "This is not your current password.",
			TooShort: Plural{
				One: "This password is too short. It must have at least {n} character.", Other: "This password is too " +
					"short. It must have at least {n} characters.",
			},
			TooLong: Plural{
				One: "This password is too long. It may have at most {n} character.", Other: "This password is too long. It " +
					"may have at most {n} characters.",
			},
			Common: "Many people use this password, so it is easy to guess. Please choose another one.",
			Personal: "This password is made of your address, your name or the name of this site, so it is easy to " +
				"guess. Please choose another one.",
			Breached: "This password was found among passwords that were stolen elsewhere. Please choose another one.",
			NotText:  "This password has a character that can’t be typed again. Please choose another one.",
			Equal:    "This is your password already. Please choose another one.",
			SignUp: Form{
				Title: "Create an account", Button: "Continue",
				Text: "Type your email address. We send you a link, with which you then choose a password.",
			},
			Reset: Form{
				Title: "Choose a new password", Button: "Email me a link",
				Text: "Type your email address. We send you a link to choose a new password.",
			},
			Choose: Form{
				Title: "Choose a password", Button: "Save the password",
				Text: "You will sign in to {site} with {address} and this password.",
			},
			Change: Form{
				Title: "Change your password", Button: "Change the password",
				Text: "You will be signed out everywhere else.",
			},
			Remove: Form{
				Title: "Remove your password?", Button: "Remove the password",
				Text: "You can’t sign in to {site} with this password any more. Your other ways to sign in stay.",
			},
			Sent: "If {address} can be used here, a mail with a link is on its way. Open the link in this browser " +
				"if you can.",
			LinkInvalid: "This link is no longer valid. It may have been used already, or it may be too old. Please ask " +
				"for another one.",

			SignInAgain: "To change this, please sign in again first.",
			None:        "You have no password.",
			OnlyWay:     "The password is your only way to sign in. Add another one first.",
		},
		Passkeys: Passkeys{
			Title: "Your passkeys", None: "You have none yet.", Add: "Add a passkey", Unnamed: "Passkey",
			Created: "Created on {date}.", LastUsed: "Last used on {date}.",
			BackedUp: "Backed up.", Syncable: "Can be backed up.", OneDevice: "On one device only.",
			Name: "Name", Rename: "Rename", Renamed: "The passkey has a new name.",
			Remove: "Remove", RemoveNamed: "Remove {name}",
			RemoveTitle: "Remove this passkey?", RemoveText: "You can’t sign in to {site} with {name} any more.",
			Removed: "The passkey was removed. It can’t be used to sign in here any more.",
			Errors: PasskeyErrors{
				OnlyWay:      "This is your only way to sign in. Add another passkey first.",
				NotFound:     "You have no such passkey.",
				CannotChange: "This site can’t change passkeys.",
				BadName:      "A name must have 1 to 64 characters that can be shown.",
				Unreadable:   "The form could not be read.",
				NotDone:      "That did not work. Please try again later.",
				Expired:      "The request took too long, or was answered already. Please try again.",
				Unknown: "This passkey is not known here. Remove it from your device, and sign in with another one or " +
					"in another way.",
				UserChanged:  "You were signed in or out in the meantime. Please try again.",
				Cloned:       "This passkey may have been copied, so it was refused. Sign in another way and replace it.",
				BadAnswer:    "The answer of the browser could not be read. Please try again, or use another browser.",
				Refused:      "This passkey was not accepted. Please try again, or sign in another way.",
				TooMany:      "There were too many tries. Wait a little.",
				NotUsed:      "No passkey was used. Try again, or create one if you have none.",
				NotCreated:   "No passkey was created. Try again.",
				Exists:       "This device has a passkey for this site already. Sign in with it.",
				WrongSite:    "Passkeys do not work at this address of the site.",
				NotSupported: "This device has no passkeys of a kind that the site takes.",
				Failed:       "That did not work. Reload the page and try again.",
			},
		},
		VerifyRequest: VerifyRequest{
			LinkSent: "A sign in link has been sent to your email address.",
			CodeSent: "A mail with a sign in link and a code of six digits has been sent to your email address. " +
				"Open the link, or type the code here.",
			Code: "Code",
			WrongCode: "That code does not count. It may be mistyped, used, too old, or from another mail; " +
				"five codes can be tried. The link in the mail still works.",
			AskAgain: "Ask for another mail",
		},
		ConfirmLink: ConfirmLink{
			Title: "Sign in?", Button: "Sign in",
			Warning: "This browser did not ask for the sign-in link. " +
				"Go on only if you asked for it yourself, on another device or in another browser.",
			Who: "You will be signed in to {site} as {address}.",
		},
		HeldAddress: HeldAddress{
			Title: "This address is in use",
			Text: "You have shown that {address} is yours. A user of this site has the address already and has " +
				"not shown that.",
			IsYou:          "If that user is you, sign in the way you did before:",
			IsYouConfirms:  "If that user is you, sign in the way you did before, and the address is confirmed:",
			WithPasskey:    "Sign in with a passkey",
			WithPassword:   "Sign in with a password",
			WithPasswordOf: "Sign in with a password ({provider})",
			OtherWays:      "Other ways to sign in",
			NotOffered:     "{provider} (no longer offered here)",
			NotYou: "If it is not you, or you want a new start, go on as a new user. The other user keeps " +
				"everything but the address.",
			Afresh: "Start afresh",
		},
		SignOut: SignOut{Title: "Sign out", Text: "Are you sure you want to sign out?", Button: "Sign out"},
		Failure: Failure{
			Title:       "Error",
			ServerTitle: "Something is wrong here", Server: "There is a problem with this site, not with what you did. " +
				"Please try again later.",
			DeniedTitle: "Access denied", Denied: "You do not have permission to sign in.",
			StoreTitle: "Not available",
			Store: "The site can’t do this at the moment. Nobody was signed in or out by it. Please try again in a " +
				"moment.",
			NotFinished: "Unable to sign in",
			LinkInvalid: "The sign in link is no longer valid. It may have been used already or it may have expired.",
			Unavailable: "This way to sign in can’t be reached at the moment, so the sign-in was not finished.",
			NoAddress:   "No sign-in begins or ends at this address.",
			TooLate: "This sign-in was not finished. It may have taken too long, may have been finished before, " +
				"or may have begun in another browser.",
			Again: "To sign in, please try again.", AgainAsOther: "To sign in as somebody else, please try again.",
		},
		Refused: Refused{
			Title:        "Not possible",
			TooManyTitle: "Too many attempts", TooMany: "There were too many attempts. Please try again later.",
			Wait: Span{
				Seconds: Plural{One: "You can try again in {n} second.", Other: "You can try again in {n} seconds."},
				Minutes: Plural{One: "You can try again in {n} minute.", Other: "You can try again in {n} minutes."},
				Hours:   Plural{One: "You can try again in {n} hour.", Other: "You can try again in {n} hours."},
			},
			ForeignTitle: "Not from this site",
			Foreign:      "The request does not come from a page of this site. Please go back, reload the page, and try again.",
			Busy:         "The site has a lot to do at the moment. Please try again soon.",
			TooLarge:     "What was sent is too large. Please go back, and try again with less.",
			CannotSend: "This address can be opened, but nothing can be sent to it in this way. Please go back, and " +
				"try again.",
			Impossible: "Nothing can be done with this address. Please go back, and try again.",
		},
		Mail: Mail{
			SignIn: MailedLink{
				Subject: "Sign in to {site}", Text: "Sign in to {site}", Button: "Sign in",
				Ignore: "If you did not ask for this mail, you can ignore it.",
			},
			TypeCode: "Or type this code in the browser in which you asked for the mail:",
			LinkValid: Span{
				Seconds: Plural{One: "The link is valid for {n} second.", Other: "The link is valid for {n} seconds."},
				Minutes: Plural{One: "The link is valid for {n} minute.", Other: "The link is valid for {n} minutes."},
				Hours:   Plural{One: "The link is valid for {n} hour.", Other: "The link is valid for {n} hours."},
			},
			BothValid: Span{
				Seconds: Plural{One: "Link and code are valid for {n} second.",
					Other: "Link and code are valid for {n} seconds."},
				Minutes: Plural{One: "Link and code are valid for {n} minute.",
					Other: "Link and code are valid for {n} minutes."},
				Hours: Plural{One: "Link and code are valid for {n} hour.", Other: "Link and code are valid for {n} hours."},
			},
			AskedIn:        "The mail was asked for in {browser} on {system}.",
			UnknownBrowser: "an unknown browser", UnknownSystem: "an unknown system",
			NeverAsk: "We never ask for this code. Give it to nobody.",
			SignUp: MailedLink{
				Subject: "Your account at {site}", Text: "Open the link to choose a password for your new account at {site}.",
				Button: "Choose a password", Ignore: "If you did not ask for this mail, you can ignore it. No account was made.",
			},
			SignUpKnown: MailedLink{
				Subject: "Your account at {site}",
				Text: "Somebody, probably you, asked for a new account at {site} with this address. You have one " +
					"already. With the link you can choose a new password.",
				Button: "Choose a new password", Ignore: "If you did not ask for this mail, you can ignore it. Nothing was " +
					"changed.",
			},
			Reset: MailedLink{
				Subject: "Your password at {site}", Text: "Open the link to choose a new password at {site}.",
				Button: "Choose a new password", Ignore: "If you did not ask for this mail, you can ignore it. Your " +
					"password stays as it is.",
			},
			PasswordChanged: Notice{
				Subject: "Your password at {site} was changed",
				Text:    "The password of your account at {site} was changed. You were signed out everywhere else.",
				NotYou:  "If it was not you, choose a new password at {site} now.",
			},
			PasswordRemoved: Notice{
				Subject: "Your password at {site} was removed",
				Text:    "The password of your account at {site} was removed. You were signed out everywhere else.",
				NotYou:  "If it was not you, sign in at {site} in another way and look at your account now.",
			},
		},
	}
}

package texts

// Dutch returns the Dutch texts.
func Dutch() Texts {
	return Texts{
		Language: "nl",
		Common: Common{
			SignIn:         "Inloggen",
			SignInWith:     "Inloggen met {provider}",
			Continue:       "Doorgaan",
			Cancel:         "Annuleren",
			SignedInAs:     "U bent ingelogd als {person}.",
			NotSignedIn:    "U bent niet ingelogd.",
			Address:        "E-mail",
			AddressExample: "naam@voorbeeld.nl",
			CheckMail:      "Kijk in uw mail",
			Credentials:    "inloggegevens",
		},
		SignIn: SignIn{
			Title:              "Inloggen bij {site}",
			Or:                 "of",
			MailLink:           "Mail mij een link",
			MailLinkBy:         "Mail mij een link met {provider}",
			Passkey:            "Inloggen met een passkey",
			CreatePasskey:      "Passkey maken",
			PasskeyNeedsScript: "Zet JavaScript aan om met een passkey in te loggen.",
			Errors: SignInErrors{
				OtherAccount: "Probeer in te loggen met een ander account.",
				NotLinked: "Log in met het account dat u de eerste keer gebruikte, om uw identiteit te " +
					"bevestigen.",
				PasskeyNotLinked: "Log in zoals u tot nu toe deed. Daarna kunt u een passkey toevoegen.",
				MailNotSent:      "De mail kon niet worden verzonden.",
				AddressRefused: "De mail kon niet worden verzonden. Controleer het adres en probeer het opnieuw. " +
					"Als het adres klopt, kan er op dit moment geen mail worden verzonden.",
				Unavailable: "Deze manier van inloggen is op dit moment niet bereikbaar. Probeer het opnieuw of " +
					"log op een andere manier in.",
				NoForm: "Er is niets gedaan: het formulier kwam niet uit deze browser of stond te lang open. " +
					"Probeer het opnieuw.",
				Credentials:     "Inloggen is mislukt. Controleer uw gegevens.",
				SessionRequired: "Log in om deze pagina te bekijken.",
				TwoPeople: "Deze browser had sessies van twee personen tegelijk, dus is niemand ingelogd. Beide " +
					"sessies zijn beëindigd. Log opnieuw in.",
				Unknown: "Inloggen is niet mogelijk.",
			},
		},
		Password: Password{
			Show:    "Wachtwoord tonen",
			Label:   "Wachtwoord",
			Current: "Huidig wachtwoord",
			New:     "Nieuw wachtwoord",

			Forgotten:     "Wachtwoord vergeten?",
			CreateAccount: "Account maken",
			StaySignedIn:  "Ingelogd blijven",
			Rule: Plural{
				One:   "Minstens {n} teken. Een paar woorden die u kunt onthouden zijn goed.",
				Other: "Minstens {n} tekens. Een paar woorden die u kunt onthouden zijn goed.",
			},
			Wrong:        "Het adres of het wachtwoord klopt niet.",
			CurrentWrong: "Dit is niet uw huidige wachtwoord.",
			TooShort: Plural{
				One:   "Dit wachtwoord is te kort. Het moet minstens {n} teken hebben.",
				Other: "Dit wachtwoord is te kort. Het moet minstens {n} tekens hebben.",
			},
			TooLong: Plural{
				One:   "Dit wachtwoord is te lang. Het mag hoogstens {n} teken hebben.",
				Other: "Dit wachtwoord is te lang. Het mag hoogstens {n} tekens hebben.",
			},
			Common: "Veel mensen gebruiken dit wachtwoord, dus het is makkelijk te raden. Kies een ander.",
			Personal: "Dit wachtwoord bestaat uit uw adres, uw naam of de naam van deze site, dus het is " +
				"makkelijk te raden. Kies een ander.",
			Breached: "Dit wachtwoord is gevonden tussen wachtwoorden die elders zijn gestolen. Kies een ander.",
			NotText:  "Dit wachtwoord bevat een teken dat niet opnieuw kan worden getypt. Kies een ander wachtwoord.",
			Equal:    "Dit is al uw wachtwoord. Kies een ander.",
			SignUp: Form{
				Title:  "Account maken",
				Text:   "Typ uw e-mailadres. Wij sturen u een link waarmee u daarna een wachtwoord kiest.",
				Button: "Doorgaan",
			},
			Reset: Form{
				Title:  "Nieuw wachtwoord kiezen",
				Text:   "Typ uw e-mailadres. Wij sturen u een link om een nieuw wachtwoord te kiezen.",
				Button: "Mail mij een link",
			},
			Choose: Form{
				Title:  "Wachtwoord kiezen",
				Text:   "U logt bij {site} in met {address} en dit wachtwoord.",
				Button: "Wachtwoord opslaan",
			},
			Change: Form{
				Title:  "Uw wachtwoord wijzigen",
				Text:   "U wordt overal elders uitgelogd.",
				Button: "Wachtwoord wijzigen",
			},
			Remove: Form{
				Title: "Uw wachtwoord verwijderen?",
				Text: "U kunt dan niet meer met dit wachtwoord inloggen bij {site}. Uw andere manieren van " +
					"inloggen blijven.",
				Button: "Wachtwoord verwijderen",
			},
			Sent: "Als {address} hier gebruikt kan worden, is er een mail met een link onderweg. Open de link zo " +
				"mogelijk in deze browser.",
			LinkInvalid: "Deze link is niet meer geldig. Hij is misschien al gebruikt of te oud. Vraag een " +
				"nieuwe aan.",

			SignInAgain: "Log eerst opnieuw in om dit te wijzigen.",
			None:        "U hebt geen wachtwoord.",
			OnlyWay:     "Het wachtwoord is uw enige manier van inloggen. Voeg eerst een andere toe.",
		},
		Passkeys: Passkeys{
			Title:       "Uw passkeys",
			None:        "U hebt er nog geen.",
			Add:         "Passkey toevoegen",
			Unnamed:     "Passkey",
			Created:     "Gemaakt op {date}.",
			LastUsed:    "Laatst gebruikt op {date}.",
			BackedUp:    "Er is een back-up.",
			Syncable:    "Een back-up is mogelijk.",
			OneDevice:   "Alleen op één apparaat.",
			Name:        "Naam",
			Rename:      "Hernoemen",
			Renamed:     "De passkey heeft een nieuwe naam.",
			Remove:      "Verwijderen",
			RemoveNamed: "{name} verwijderen",
			RemoveTitle: "Deze passkey verwijderen?",
			RemoveText:  "U kunt dan niet meer met {name} inloggen bij {site}.",
			Removed:     "De passkey is verwijderd. Er kan hier niet meer mee worden ingelogd.",
			Errors: PasskeyErrors{
				OnlyWay:      "Dit is uw enige manier van inloggen. Voeg eerst een andere passkey toe.",
				NotFound:     "U hebt zo’n passkey niet.",
				CannotChange: "Deze site kan passkeys niet wijzigen.",
				BadName:      "Een naam moet 1 tot 64 zichtbare tekens hebben.",
				Unreadable:   "Het formulier kon niet worden gelezen.",
				NotDone:      "Dat is niet gelukt. Probeer het later opnieuw.",
				Expired:      "Het verzoek duurde te lang of is al beantwoord. Probeer het opnieuw.",
				Unknown: "Deze passkey is hier niet bekend. Verwijder hem van uw apparaat en log in met een " +
					"andere of op een andere manier.",
				UserChanged: "Intussen bent u in- of uitgelogd. Probeer het opnieuw.",
				Cloned: "Deze passkey is misschien gekopieerd en daarom geweigerd. Log op een andere manier in " +
					"en vervang hem.",
				BadAnswer: "Het antwoord van de browser kon niet worden gelezen. Probeer het opnieuw of gebruik " +
					"een andere browser.",
				Refused:      "Deze passkey is niet aanvaard. Probeer het opnieuw of log op een andere manier in.",
				TooMany:      "Er waren te veel pogingen. Wacht even.",
				NotUsed:      "Er is geen passkey gebruikt. Probeer het opnieuw, of maak er een als u er geen hebt.",
				NotCreated:   "Er is geen passkey gemaakt. Probeer het opnieuw.",
				Exists:       "Dit apparaat heeft al een passkey voor deze site. Log daarmee in.",
				WrongSite:    "Passkeys werken niet op dit adres van de site.",
				NotSupported: "Dit apparaat heeft geen passkeys van een soort die de site aanneemt.",
				Failed:       "Dat is niet gelukt. Laad de pagina opnieuw en probeer het nog eens.",
			},
		},
		VerifyRequest: VerifyRequest{
			LinkSent: "Er is een link om in te loggen naar uw e-mailadres gestuurd.",
			CodeSent: "Er is een mail met een link om in te loggen en een code van zes cijfers naar uw adres " +
				"gestuurd. Open de link of typ de code hier.",
			Code: "Code",
			WrongCode: "Die code geldt niet. Hij is misschien verkeerd getypt, al gebruikt, te oud of uit een " +
				"andere mail; er kunnen vijf codes worden geprobeerd. De link in de mail werkt nog.",
			AskAgain: "Nieuwe mail aanvragen",
		},
		ConfirmLink: ConfirmLink{
			Title: "Inloggen?",
			Warning: "Deze browser heeft de link niet aangevraagd. Ga alleen door als u hem zelf hebt " +
				"aangevraagd, op een ander apparaat of in een andere browser.",
			Who:    "U wordt bij {site} ingelogd als {address}.",
			Button: "Inloggen",
		},
		HeldAddress: HeldAddress{
			Title: "Dit adres is al in gebruik",
			Text: "U hebt laten zien dat {address} van u is. Een gebruiker van deze site heeft het adres al en " +
				"heeft dat niet laten zien.",
			IsYou: "Als u die gebruiker bent, log dan in zoals u tot nu toe deed:",
			IsYouConfirms: "Als u die gebruiker bent, log dan in zoals u tot nu toe deed, en het adres wordt " +
				"bevestigd:",
			WithPasskey:    "Inloggen met een passkey",
			WithPassword:   "Inloggen met een wachtwoord",
			WithPasswordOf: "Inloggen met een wachtwoord ({provider})",
			OtherWays:      "Andere manieren van inloggen",
			NotOffered:     "{provider} (wordt hier niet meer aangeboden)",
			NotYou: "Als u het niet bent of opnieuw wilt beginnen, ga dan door als nieuwe gebruiker. De andere " +
				"gebruiker houdt alles behalve het adres.",
			Afresh: "Opnieuw beginnen",
		},
		SignOut: SignOut{
			Title:  "Uitloggen",
			Text:   "Wilt u echt uitloggen?",
			Button: "Uitloggen",
		},
		Failure: Failure{
			Title:       "Fout",
			ServerTitle: "Er is hier iets mis",
			Server:      "Het ligt aan deze site, niet aan wat u deed. Probeer het later opnieuw.",
			DeniedTitle: "Toegang geweigerd",
			Denied:      "U mag hier niet inloggen.",
			StoreTitle:  "Niet beschikbaar",
			Store: "De site kan dit op dit moment niet doen. Niemand is daardoor in- of uitgelogd. Probeer het " +
				"zo meteen opnieuw.",
			NotFinished: "Inloggen is niet mogelijk",
			LinkInvalid: "De link om in te loggen is niet meer geldig. Hij is misschien al gebruikt of verlopen.",
			Unavailable: "Deze manier van inloggen is op dit moment niet bereikbaar, dus het inloggen is niet " +
				"afgemaakt.",
			NoAddress: "Op dit adres begint of eindigt geen inloggen.",
			TooLate: "Dit inloggen is niet afgemaakt. Het duurde misschien te lang, was al afgemaakt of is in " +
				"een andere browser begonnen.",
			Again:        "Probeer het opnieuw om in te loggen.",
			AgainAsOther: "Probeer het opnieuw om als iemand anders in te loggen.",
		},
		Refused: Refused{
			Title:        "Niet mogelijk",
			TooManyTitle: "Te veel pogingen",
			TooMany:      "Er waren te veel pogingen. Probeer het later opnieuw.",
			Wait: Span{
				Seconds: Plural{
					One:   "U kunt het over {n} seconde opnieuw proberen.",
					Other: "U kunt het over {n} seconden opnieuw proberen.",
				},
				Minutes: Plural{
					One:   "U kunt het over {n} minuut opnieuw proberen.",
					Other: "U kunt het over {n} minuten opnieuw proberen.",
				},
				Hours: Plural{
					One:   "U kunt het over {n} uur opnieuw proberen.",
					Other: "U kunt het over {n} uur opnieuw proberen.",
				},
			},
			ForeignTitle: "Niet van deze site",
			Foreign: "Het verzoek komt niet van een pagina van deze site. Ga terug, laad de pagina opnieuw en " +
				"probeer het nog eens.",
			Busy:     "De site heeft op dit moment veel te doen. Probeer het zo meteen opnieuw.",
			TooLarge: "Wat is verzonden is te groot. Ga terug en probeer het met minder.",
			CannotSend: "Dit adres kan worden geopend, maar er kan zo niets naartoe worden gestuurd. Ga terug en " +
				"probeer het opnieuw.",
			Impossible: "Met dit adres kan niets worden gedaan. Ga terug en probeer het opnieuw.",
		},
		Mail: Mail{
			SignIn: MailedLink{
				Subject: "Inloggen bij {site}",
				Text:    "Inloggen bij {site}",
				Button:  "Inloggen",
				Ignore:  "Als u deze mail niet hebt aangevraagd, kunt u hem negeren.",
			},
			TypeCode: "Of typ deze code in de browser waarin u de mail hebt aangevraagd:",
			LinkValid: Span{
				Seconds: Plural{
					One:   "De link is {n} seconde geldig.",
					Other: "De link is {n} seconden geldig.",
				},
				Minutes: Plural{
					One:   "De link is {n} minuut geldig.",
					Other: "De link is {n} minuten geldig.",
				},
				Hours: Plural{
					One:   "De link is {n} uur geldig.",
					Other: "De link is {n} uur geldig.",
				},
			},
			BothValid: Span{
				Seconds: Plural{
					One:   "De link en de code zijn {n} seconde geldig.",
					Other: "De link en de code zijn {n} seconden geldig.",
				},
				Minutes: Plural{
					One:   "De link en de code zijn {n} minuut geldig.",
					Other: "De link en de code zijn {n} minuten geldig.",
				},
				Hours: Plural{
					One:   "De link en de code zijn {n} uur geldig.",
					Other: "De link en de code zijn {n} uur geldig.",
				},
			},
			AskedIn:        "De mail is aangevraagd met: {browser}, {system}.",
			UnknownBrowser: "onbekende browser",
			UnknownSystem:  "onbekend systeem",
			NeverAsk:       "Wij vragen nooit om deze code. Geef hem aan niemand.",
			SignUp: MailedLink{
				Subject: "Uw account bij {site}",
				Text:    "Open de link om een wachtwoord te kiezen voor uw nieuwe account bij {site}.",
				Button:  "Wachtwoord kiezen",
				Ignore:  "Als u deze mail niet hebt aangevraagd, kunt u hem negeren. Er is geen account gemaakt.",
			},
			SignUpKnown: MailedLink{
				Subject: "Uw account bij {site}",
				Text: "Iemand, waarschijnlijk u, heeft met dit adres een nieuw account bij {site} aangevraagd. U " +
					"hebt er al een. Met de link kunt u een nieuw wachtwoord kiezen.",
				Button: "Nieuw wachtwoord kiezen",
				Ignore: "Als u deze mail niet hebt aangevraagd, kunt u hem negeren. Er is niets gewijzigd.",
			},
			Reset: MailedLink{
				Subject: "Uw wachtwoord bij {site}",
				Text:    "Open de link om een nieuw wachtwoord bij {site} te kiezen.",
				Button:  "Nieuw wachtwoord kiezen",
				Ignore: "Als u deze mail niet hebt aangevraagd, kunt u hem negeren. Uw wachtwoord blijft zoals " +
					"het is.",
			},
			PasswordChanged: Notice{
				Subject: "Uw wachtwoord bij {site} is gewijzigd",
				Text:    "Het wachtwoord van uw account bij {site} is gewijzigd. U bent overal elders uitgelogd.",
				NotYou:  "Als u dit niet was, kies dan nu een nieuw wachtwoord bij {site}.",
			},
			PasswordRemoved: Notice{
				Subject: "Uw wachtwoord bij {site} is verwijderd",
				Text:    "Het wachtwoord van uw account bij {site} is verwijderd. U bent overal elders uitgelogd.",
				NotYou:  "Als u dit niet was, log dan nu op een andere manier in bij {site} en bekijk uw account.",
			},
		},
	}
}

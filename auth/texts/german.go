package texts

// German returns the German texts.
func German() Texts {
	return Texts{
		Language: "de",
		Common: Common{
			SignIn:         "Anmelden",
			SignInWith:     "Mit {provider} anmelden",
			Continue:       "Weiter",
			Cancel:         "Abbrechen",
			SignedInAs:     "Sie sind als {person} angemeldet.",
			NotSignedIn:    "Sie sind nicht angemeldet.",
			Address:        "E-Mail",
			AddressExample: "name@beispiel.de",
			CheckMail:      "Sehen Sie in Ihr Postfach",
			Credentials:    "Zugangsdaten",
		},
		SignIn: SignIn{
			Title:              "Bei {site} anmelden",
			Or:                 "oder",
			MailLink:           "Link per E-Mail senden",
			MailLinkBy:         "Link per E-Mail mit {provider} senden",
			Passkey:            "Mit einem Passkey anmelden",
			CreatePasskey:      "Passkey erstellen",
			PasskeyNeedsScript: "Um sich mit einem Passkey anzumelden, schalten Sie JavaScript ein.",
			Errors: SignInErrors{
				OtherAccount: "Versuchen Sie es mit einem anderen Konto.",
				NotLinked: "Um Ihre Identität zu bestätigen, melden Sie sich mit dem Konto an, das Sie beim " +
					"ersten Mal verwendet haben.",
				PasskeyNotLinked: "Melden Sie sich so an wie bisher. Danach können Sie einen Passkey hinzufügen.",
				MailNotSent:      "Die E-Mail konnte nicht gesendet werden.",
				AddressRefused: "Die E-Mail konnte nicht gesendet werden. Prüfen Sie die Adresse und versuchen " +
					"Sie es noch einmal. Wenn die Adresse stimmt, kann im Moment keine E-Mail gesendet " +
					"werden.",
				Unavailable: "Dieser Weg zur Anmeldung ist im Moment nicht erreichbar. Versuchen Sie es noch " +
					"einmal oder melden Sie sich anders an.",
				NoForm: "Es wurde nichts ausgeführt: Das Formular kam nicht aus diesem Browser oder war zu lange " +
					"offen. Bitte versuchen Sie es noch einmal.",
				Credentials:     "Die Anmeldung ist fehlgeschlagen. Prüfen Sie Ihre Angaben.",
				SessionRequired: "Bitte melden Sie sich an, um diese Seite zu sehen.",
				TwoPeople: "Dieser Browser hatte Sitzungen von zwei Personen zugleich. Deshalb wurde niemand " +
					"angemeldet. Beide Sitzungen sind beendet. Bitte melden Sie sich neu an.",
				Unknown: "Die Anmeldung ist nicht möglich.",
			},
		},
		Password: Password{
			Show:    "Passwort anzeigen",
			Label:   "Passwort",
			Current: "Aktuelles Passwort",
			New:     "Neues Passwort",

			Forgotten:     "Passwort vergessen?",
			CreateAccount: "Konto erstellen",
			StaySignedIn:  "Angemeldet bleiben",
			Rule: Plural{
				Other: "Mindestens {n} Zeichen. Gut sind mehrere Wörter, die Sie sich merken können.",
			},
			Wrong:        "Die Adresse oder das Passwort stimmt nicht.",
			CurrentWrong: "Das ist nicht Ihr aktuelles Passwort.",
			TooShort: Plural{
				Other: "Dieses Passwort ist zu kurz. Es muss mindestens {n} Zeichen haben.",
			},
			TooLong: Plural{
				Other: "Dieses Passwort ist zu lang. Es darf höchstens {n} Zeichen haben.",
			},
			Common: "Viele Leute verwenden dieses Passwort. Es ist leicht zu erraten. Bitte wählen Sie ein " +
				"anderes.",
			Personal: "Dieses Passwort besteht aus Ihrer Adresse, Ihrem Namen oder dem Namen dieser Website. Es " +
				"ist leicht zu erraten. Bitte wählen Sie ein anderes.",
			Breached: "Dieses Passwort wurde unter Passwörtern gefunden, die anderswo gestohlen wurden. Bitte " +
				"wählen Sie ein anderes.",
			NotText: "Dieses Passwort enthält ein Zeichen, das sich nicht wieder eintippen lässt. Bitte wählen Sie ein anderes.",
			Equal:   "Das ist schon Ihr Passwort. Bitte wählen Sie ein anderes.",
			SignUp: Form{
				Title: "Konto erstellen",
				Text: "Geben Sie Ihre E-Mail-Adresse ein. Wir senden Ihnen einen Link, mit dem Sie dann ein " +
					"Passwort wählen.",
				Button: "Weiter",
			},
			Reset: Form{
				Title: "Neues Passwort wählen",
				Text: "Geben Sie Ihre E-Mail-Adresse ein. Wir senden Ihnen einen Link, mit dem Sie ein neues " +
					"Passwort wählen.",
				Button: "Link per E-Mail senden",
			},
			Choose: Form{
				Title:  "Passwort wählen",
				Text:   "Mit {address} und diesem Passwort melden Sie sich bei {site} an.",
				Button: "Passwort speichern",
			},
			Change: Form{
				Title:  "Passwort ändern",
				Text:   "Sie werden überall sonst abgemeldet.",
				Button: "Passwort ändern",
			},
			Remove: Form{
				Title: "Passwort entfernen?",
				Text: "Mit diesem Passwort können Sie sich dann nicht mehr bei {site} anmelden. Ihre anderen " +
					"Wege zur Anmeldung bleiben.",
				Button: "Passwort entfernen",
			},
			Sent: "Wenn {address} hier verwendet werden kann, ist eine E-Mail mit einem Link unterwegs. Öffnen " +
				"Sie den Link möglichst in diesem Browser.",
			LinkInvalid: "Dieser Link ist nicht mehr gültig. Er wurde vielleicht schon verwendet oder ist zu " +
				"alt. Bitte fordern Sie einen neuen an.",

			SignInAgain: "Um das zu ändern, melden Sie sich bitte zuerst neu an.",
			None:        "Sie haben kein Passwort.",
			OnlyWay:     "Das Passwort ist Ihr einziger Weg zur Anmeldung. Fügen Sie zuerst einen anderen hinzu.",
		},
		Passkeys: Passkeys{
			Title:       "Ihre Passkeys",
			None:        "Sie haben noch keine.",
			Add:         "Passkey hinzufügen",
			Unnamed:     "Passkey",
			Created:     "Erstellt am {date}.",
			LastUsed:    "Zuletzt verwendet am {date}.",
			BackedUp:    "Gesichert.",
			Syncable:    "Kann gesichert werden.",
			OneDevice:   "Nur auf einem Gerät.",
			Name:        "Name",
			Rename:      "Umbenennen",
			Renamed:     "Der Passkey hat einen neuen Namen.",
			Remove:      "Entfernen",
			RemoveNamed: "{name} entfernen",
			RemoveTitle: "Diesen Passkey entfernen?",
			RemoveText:  "Mit {name} können Sie sich dann nicht mehr bei {site} anmelden.",
			Removed:     "Der Passkey wurde entfernt. Mit ihm kann sich hier niemand mehr anmelden.",
			Errors: PasskeyErrors{
				OnlyWay:      "Das ist Ihr einziger Weg zur Anmeldung. Fügen Sie zuerst einen anderen Passkey hinzu.",
				NotFound:     "Sie haben keinen solchen Passkey.",
				CannotChange: "Diese Website kann Passkeys nicht ändern.",
				BadName:      "Ein Name muss 1 bis 64 Zeichen haben, die angezeigt werden können.",
				Unreadable:   "Das Formular konnte nicht gelesen werden.",
				NotDone:      "Das hat nicht geklappt. Bitte versuchen Sie es später noch einmal.",
				Expired: "Die Anfrage hat zu lange gedauert oder wurde schon beantwortet. Bitte versuchen Sie es " +
					"noch einmal.",
				Unknown: "Dieser Passkey ist hier nicht bekannt. Entfernen Sie ihn von Ihrem Gerät und melden " +
					"Sie sich mit einem anderen oder auf einem anderen Weg an.",
				UserChanged: "In der Zwischenzeit wurden Sie an- oder abgemeldet. Bitte versuchen Sie es noch " +
					"einmal.",
				Cloned: "Dieser Passkey wurde vielleicht kopiert und deshalb abgelehnt. Melden Sie sich anders " +
					"an und ersetzen Sie ihn.",
				BadAnswer: "Die Antwort des Browsers konnte nicht gelesen werden. Versuchen Sie es noch einmal " +
					"oder verwenden Sie einen anderen Browser.",
				Refused: "Dieser Passkey wurde nicht angenommen. Versuchen Sie es noch einmal oder melden Sie " +
					"sich anders an.",
				TooMany: "Es waren zu viele Versuche. Warten Sie ein wenig.",
				NotUsed: "Es wurde kein Passkey verwendet. Versuchen Sie es noch einmal, oder erstellen Sie " +
					"einen, wenn Sie keinen haben.",
				NotCreated:   "Es wurde kein Passkey erstellt. Versuchen Sie es noch einmal.",
				Exists:       "Dieses Gerät hat schon einen Passkey für diese Website. Melden Sie sich mit ihm an.",
				WrongSite:    "Unter dieser Adresse der Website funktionieren Passkeys nicht.",
				NotSupported: "Dieses Gerät hat keine Passkeys einer Art, die die Website annimmt.",
				Failed:       "Das hat nicht geklappt. Laden Sie die Seite neu und versuchen Sie es noch einmal.",
			},
		},
		VerifyRequest: VerifyRequest{
			LinkSent: "Ein Link zur Anmeldung wurde an Ihre E-Mail-Adresse gesendet.",
			CodeSent: "Eine E-Mail mit einem Link zur Anmeldung und einem Code aus sechs Ziffern wurde an Ihre " +
				"Adresse gesendet. Öffnen Sie den Link oder geben Sie den Code hier ein.",
			Code: "Code",
			WrongCode: "Dieser Code gilt nicht. Er ist vielleicht falsch geschrieben, schon verwendet, zu alt " +
				"oder aus einer anderen E-Mail; fünf Codes können versucht werden. Der Link in der " +
				"E-Mail funktioniert noch.",
			AskAgain: "Neue E-Mail anfordern",
		},
		ConfirmLink: ConfirmLink{
			Title: "Anmelden?",
			Warning: "Dieser Browser hat den Link zur Anmeldung nicht angefordert. Fahren Sie nur fort, wenn Sie " +
				"ihn selbst auf einem anderen Gerät oder in einem anderen Browser angefordert haben.",
			Who:    "Sie werden bei {site} als {address} angemeldet.",
			Button: "Anmelden",
		},
		HeldAddress: HeldAddress{
			Title: "Diese Adresse wird schon verwendet",
			Text: "Sie haben gezeigt, dass {address} Ihnen gehört. Ein Benutzer dieser Website hat die Adresse " +
				"schon und hat das nicht gezeigt.",
			IsYou: "Wenn Sie dieser Benutzer sind, melden Sie sich so an wie bisher:",
			IsYouConfirms: "Wenn Sie dieser Benutzer sind, melden Sie sich so an wie bisher, und die Adresse " +
				"wird bestätigt:",
			WithPasskey:    "Mit einem Passkey anmelden",
			WithPassword:   "Mit einem Passwort anmelden",
			WithPasswordOf: "Mit einem Passwort anmelden ({provider})",
			OtherWays:      "Andere Wege zur Anmeldung",
			NotOffered:     "{provider} (wird hier nicht mehr angeboten)",
			NotYou: "Wenn Sie es nicht sind oder neu beginnen möchten, fahren Sie als neuer Benutzer fort. Der " +
				"andere Benutzer behält alles außer der Adresse.",
			Afresh: "Neu beginnen",
		},
		SignOut: SignOut{
			Title:  "Abmelden",
			Text:   "Möchten Sie sich wirklich abmelden?",
			Button: "Abmelden",
		},
		Failure: Failure{
			Title:       "Fehler",
			ServerTitle: "Hier stimmt etwas nicht",
			Server:      "Es liegt an dieser Website und nicht an Ihnen. Bitte versuchen Sie es später noch einmal.",
			DeniedTitle: "Zugriff verweigert",
			Denied:      "Sie dürfen sich hier nicht anmelden.",
			StoreTitle:  "Nicht verfügbar",
			Store: "Die Website kann das im Moment nicht tun. Dadurch wurde niemand an- oder abgemeldet. Bitte " +
				"versuchen Sie es gleich noch einmal.",
			NotFinished: "Die Anmeldung ist nicht möglich",
			LinkInvalid: "Der Link zur Anmeldung ist nicht mehr gültig. Er wurde vielleicht schon verwendet oder " +
				"ist abgelaufen.",
			Unavailable: "Dieser Weg zur Anmeldung ist im Moment nicht erreichbar. Die Anmeldung wurde nicht " +
				"beendet.",
			NoAddress: "Unter dieser Adresse beginnt und endet keine Anmeldung.",
			TooLate: "Diese Anmeldung wurde nicht beendet. Sie hat vielleicht zu lange gedauert, wurde schon " +
				"beendet oder hat in einem anderen Browser begonnen.",
			Again:        "Um sich anzumelden, versuchen Sie es bitte noch einmal.",
			AgainAsOther: "Um sich als jemand anderes anzumelden, versuchen Sie es bitte noch einmal.",
		},
		Refused: Refused{
			Title:        "Nicht möglich",
			TooManyTitle: "Zu viele Versuche",
			TooMany:      "Es waren zu viele Versuche. Bitte versuchen Sie es später noch einmal.",
			Wait: Span{
				Seconds: Plural{
					One:   "Sie können es in {n} Sekunde noch einmal versuchen.",
					Other: "Sie können es in {n} Sekunden noch einmal versuchen.",
				},
				Minutes: Plural{
					One:   "Sie können es in {n} Minute noch einmal versuchen.",
					Other: "Sie können es in {n} Minuten noch einmal versuchen.",
				},
				Hours: Plural{
					One:   "Sie können es in {n} Stunde noch einmal versuchen.",
					Other: "Sie können es in {n} Stunden noch einmal versuchen.",
				},
			},
			ForeignTitle: "Nicht von dieser Website",
			Foreign: "Die Anfrage kommt nicht von einer Seite dieser Website. Gehen Sie bitte zurück, laden Sie " +
				"die Seite neu und versuchen Sie es noch einmal.",
			Busy:     "Die Website hat im Moment viel zu tun. Bitte versuchen Sie es gleich noch einmal.",
			TooLarge: "Was gesendet wurde, ist zu groß. Gehen Sie bitte zurück und versuchen Sie es mit weniger.",
			CannotSend: "Diese Adresse kann geöffnet werden, aber so kann ihr nichts gesendet werden. Gehen Sie " +
				"bitte zurück und versuchen Sie es noch einmal.",
			Impossible: "Mit dieser Adresse kann nichts getan werden. Gehen Sie bitte zurück und versuchen Sie " +
				"es noch einmal.",
		},
		Mail: Mail{
			SignIn: MailedLink{
				Subject: "Anmeldung bei {site}",
				Text:    "Bei {site} anmelden",
				Button:  "Anmelden",
				Ignore:  "Wenn Sie diese E-Mail nicht angefordert haben, können Sie sie ignorieren.",
			},
			TypeCode: "Oder geben Sie diesen Code in dem Browser ein, in dem Sie die E-Mail angefordert haben:",
			LinkValid: Span{
				Seconds: Plural{
					One:   "Der Link gilt {n} Sekunde.",
					Other: "Der Link gilt {n} Sekunden.",
				},
				Minutes: Plural{
					One:   "Der Link gilt {n} Minute.",
					Other: "Der Link gilt {n} Minuten.",
				},
				Hours: Plural{
					One:   "Der Link gilt {n} Stunde.",
					Other: "Der Link gilt {n} Stunden.",
				},
			},
			BothValid: Span{
				Seconds: Plural{
					One:   "Link und Code gelten {n} Sekunde.",
					Other: "Link und Code gelten {n} Sekunden.",
				},
				Minutes: Plural{
					One:   "Link und Code gelten {n} Minute.",
					Other: "Link und Code gelten {n} Minuten.",
				},
				Hours: Plural{
					One:   "Link und Code gelten {n} Stunde.",
					Other: "Link und Code gelten {n} Stunden.",
				},
			},
			AskedIn:        "Die E-Mail wurde angefordert mit: {browser}, {system}.",
			UnknownBrowser: "unbekannter Browser",
			UnknownSystem:  "unbekanntes System",
			NeverAsk:       "Wir fragen nie nach diesem Code. Geben Sie ihn niemandem.",
			SignUp: MailedLink{
				Subject: "Ihr Konto bei {site}",
				Text:    "Öffnen Sie den Link, um ein Passwort für Ihr neues Konto bei {site} zu wählen.",
				Button:  "Passwort wählen",
				Ignore: "Wenn Sie diese E-Mail nicht angefordert haben, können Sie sie ignorieren. Es wurde kein " +
					"Konto erstellt.",
			},
			SignUpKnown: MailedLink{
				Subject: "Ihr Konto bei {site}",
				Text: "Jemand, wahrscheinlich Sie, hat mit dieser Adresse ein neues Konto bei {site} " +
					"angefordert. Sie haben schon eines. Mit dem Link können Sie ein neues Passwort " +
					"wählen.",
				Button: "Neues Passwort wählen",
				Ignore: "Wenn Sie diese E-Mail nicht angefordert haben, können Sie sie ignorieren. Es wurde " +
					"nichts geändert.",
			},
			Reset: MailedLink{
				Subject: "Ihr Passwort bei {site}",
				Text:    "Öffnen Sie den Link, um ein neues Passwort für {site} zu wählen.",
				Button:  "Neues Passwort wählen",
				Ignore: "Wenn Sie diese E-Mail nicht angefordert haben, können Sie sie ignorieren. Ihr Passwort " +
					"bleibt, wie es ist.",
			},
			PasswordChanged: Notice{
				Subject: "Ihr Passwort bei {site} wurde geändert",
				Text:    "Das Passwort Ihres Kontos bei {site} wurde geändert. Sie wurden überall sonst abgemeldet.",
				NotYou:  "Wenn Sie das nicht waren, wählen Sie jetzt bei {site} ein neues Passwort.",
			},
			PasswordRemoved: Notice{
				Subject: "Ihr Passwort bei {site} wurde entfernt",
				Text:    "Das Passwort Ihres Kontos bei {site} wurde entfernt. Sie wurden überall sonst abgemeldet.",
				NotYou: "Wenn Sie das nicht waren, melden Sie sich jetzt bei {site} auf einem anderen Weg an und " +
					"prüfen Sie Ihr Konto.",
			},
		},
	}
}

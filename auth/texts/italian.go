package texts

// Italian returns the Italian texts.
func Italian() Texts {
	return Texts{
		Language: "it",
		Common: Common{
			SignIn:         "Accedi",
			SignInWith:     "Accedi con {provider}",
			Continue:       "Continua",
			Cancel:         "Annulla",
			SignedInAs:     "Hai effettuato l’accesso come {person}.",
			NotSignedIn:    "Non hai effettuato l’accesso.",
			Address:        "E-mail",
			AddressExample: "nome@esempio.it",
			CheckMail:      "Controlla la tua e-mail",
			Credentials:    "credenziali",
		},
		SignIn: SignIn{
			Title:              "Accedi a {site}",
			Or:                 "oppure",
			MailLink:           "Inviami un link per e-mail",
			MailLinkBy:         "Inviami un link per e-mail con {provider}",
			Passkey:            "Accedi con una passkey",
			CreatePasskey:      "Crea una passkey",
			PasskeyNeedsScript: "Per accedere con una passkey, attiva JavaScript.",
			Errors: SignInErrors{
				OtherAccount:     "Prova ad accedere con un altro account.",
				NotLinked:        "Per confermare la tua identità, accedi con l’account che hai usato la prima volta.",
				PasskeyNotLinked: "Accedi come hai fatto finora. Poi potrai aggiungere una passkey.",
				MailNotSent:      "Non è stato possibile inviare l’e-mail.",
				AddressRefused: "Non è stato possibile inviare l’e-mail. Controlla l’indirizzo e riprova. Se " +
					"l’indirizzo è giusto, al momento non si può inviare nessuna e-mail.",
				Unavailable: "Questo modo di accedere al momento non è raggiungibile. Riprova o accedi in un " +
					"altro modo.",
				NoForm: "Non è stato fatto nulla: il modulo non veniva da questo browser o è rimasto aperto " +
					"troppo a lungo. Riprova.",
				Credentials:     "Accesso non riuscito. Controlla i dati che hai inserito.",
				SessionRequired: "Accedi per vedere questa pagina.",
				TwoPeople: "Questo browser aveva sessioni di due persone allo stesso tempo, quindi nessuno ha " +
					"effettuato l’accesso. Entrambe le sessioni sono terminate. Accedi di nuovo.",
				Unknown: "Accesso non possibile.",
			},
		},
		Password: Password{
			Show:    "Mostra la password",
			Label:   "Password",
			Current: "Password attuale",
			New:     "Nuova password",

			Forgotten:     "Password dimenticata?",
			CreateAccount: "Crea un account",
			StaySignedIn:  "Resta collegato",
			Rule: Plural{
				One:   "Almeno {n} carattere. Più parole facili da ricordare vanno bene.",
				Other: "Almeno {n} caratteri. Più parole facili da ricordare vanno bene.",
			},
			Wrong:        "L’indirizzo o la password non è giusto.",
			CurrentWrong: "Questa non è la tua password attuale.",
			TooShort: Plural{
				One:   "Questa password è troppo corta. Deve avere almeno {n} carattere.",
				Other: "Questa password è troppo corta. Deve avere almeno {n} caratteri.",
			},
			TooLong: Plural{
				One:   "Questa password è troppo lunga. Può avere al massimo {n} carattere.",
				Other: "Questa password è troppo lunga. Può avere al massimo {n} caratteri.",
			},
			Common: "Molte persone usano questa password, quindi è facile da indovinare. Scegline un’altra.",
			Personal: "Questa password è fatta del tuo indirizzo, del tuo nome o del nome di questo sito, quindi " +
				"è facile da indovinare. Scegline un’altra.",
			Breached: "Questa password è stata trovata tra password rubate altrove. Scegline un’altra.",
			NotText:  "Questa password contiene un carattere che non si può digitare di nuovo. Scegline un’altra.",
			Equal:    "Questa è già la tua password. Scegline un’altra.",
			SignUp: Form{
				Title:  "Crea un account",
				Text:   "Scrivi il tuo indirizzo e-mail. Ti inviamo un link con cui poi scegli una password.",
				Button: "Continua",
			},
			Reset: Form{
				Title:  "Scegli una nuova password",
				Text:   "Scrivi il tuo indirizzo e-mail. Ti inviamo un link per scegliere una nuova password.",
				Button: "Inviami un link per e-mail",
			},
			Choose: Form{
				Title:  "Scegli una password",
				Text:   "Accederai a {site} con {address} e questa password.",
				Button: "Salva la password",
			},
			Change: Form{
				Title:  "Cambia la tua password",
				Text:   "Sarai disconnesso da ogni altro posto.",
				Button: "Cambia la password",
			},
			Remove: Form{
				Title: "Rimuovere la tua password?",
				Text: "Non potrai più accedere a {site} con questa password. I tuoi altri modi di accedere " +
					"restano.",
				Button: "Rimuovi la password",
			},
			Sent: "Se {address} può essere usato qui, un’e-mail con un link è in arrivo. Se puoi, apri il link " +
				"in questo browser.",
			LinkInvalid: "Questo link non è più valido. Forse è già stato usato, o è troppo vecchio. Chiedine un " +
				"altro.",

			SignInAgain: "Per cambiare questo, accedi prima di nuovo.",
			None:        "Non hai una password.",
			OnlyWay:     "La password è il tuo unico modo di accedere. Aggiungine prima un altro.",
		},
		Passkeys: Passkeys{
			Title:       "Le tue passkey",
			None:        "Non ne hai ancora.",
			Add:         "Aggiungi una passkey",
			Unnamed:     "Passkey",
			Created:     "Creata il {date}.",
			LastUsed:    "Usata l’ultima volta il {date}.",
			BackedUp:    "Con copia di sicurezza.",
			Syncable:    "Può avere una copia di sicurezza.",
			OneDevice:   "Solo su un dispositivo.",
			Name:        "Nome",
			Rename:      "Rinomina",
			Renamed:     "La passkey ha un nuovo nome.",
			Remove:      "Rimuovi",
			RemoveNamed: "Rimuovi {name}",
			RemoveTitle: "Rimuovere questa passkey?",
			RemoveText:  "Non potrai più accedere a {site} con {name}.",
			Removed:     "La passkey è stata rimossa. Non serve più per accedere qui.",
			Errors: PasskeyErrors{
				OnlyWay:      "Questo è il tuo unico modo di accedere. Aggiungi prima un’altra passkey.",
				NotFound:     "Non hai questa passkey.",
				CannotChange: "Questo sito non può modificare le passkey.",
				BadName:      "Un nome deve avere da 1 a 64 caratteri visibili.",
				Unreadable:   "Non è stato possibile leggere il modulo.",
				NotDone:      "Non ha funzionato. Riprova più tardi.",
				Expired:      "La richiesta ha impiegato troppo tempo o ha già avuto risposta. Riprova.",
				Unknown: "Questa passkey non è conosciuta qui. Rimuovila dal tuo dispositivo e accedi con " +
					"un’altra o in un altro modo.",
				UserChanged: "Nel frattempo hai effettuato l’accesso o ti sei disconnesso. Riprova.",
				Cloned: "Questa passkey potrebbe essere stata copiata, quindi è stata rifiutata. Accedi in un " +
					"altro modo e sostituiscila.",
				BadAnswer: "Non è stato possibile leggere la risposta del browser. Riprova o usa un altro " +
					"browser.",
				Refused:      "Questa passkey non è stata accettata. Riprova o accedi in un altro modo.",
				TooMany:      "Ci sono stati troppi tentativi. Aspetta un po’.",
				NotUsed:      "Nessuna passkey è stata usata. Riprova, o creane una se non ne hai.",
				NotCreated:   "Nessuna passkey è stata creata. Riprova.",
				Exists:       "Questo dispositivo ha già una passkey per questo sito. Accedi con quella.",
				WrongSite:    "Le passkey non funzionano a questo indirizzo del sito.",
				NotSupported: "Questo dispositivo non ha passkey di un tipo che il sito accetta.",
				Failed:       "Non ha funzionato. Ricarica la pagina e riprova.",
			},
		},
		VerifyRequest: VerifyRequest{
			LinkSent: "Un link per accedere è stato inviato al tuo indirizzo e-mail.",
			CodeSent: "Un’e-mail con un link per accedere e un codice di sei cifre è stata inviata al tuo " +
				"indirizzo. Apri il link o scrivi il codice qui.",
			Code: "Codice",
			WrongCode: "Questo codice non vale. Forse è scritto male, già usato, troppo vecchio o di un’altra " +
				"e-mail; si possono provare cinque codici. Il link nell’e-mail funziona ancora.",
			AskAgain: "Chiedi un’altra e-mail",
		},
		ConfirmLink: ConfirmLink{
			Title: "Accedere?",
			Warning: "Questo browser non ha chiesto il link per accedere. Continua solo se l’hai chiesto tu, su " +
				"un altro dispositivo o in un altro browser.",
			Who:    "Accederai a {site} come {address}.",
			Button: "Accedi",
		},
		HeldAddress: HeldAddress{
			Title: "Questo indirizzo è già in uso",
			Text: "Hai mostrato che {address} è tuo. Un utente di questo sito ha già l’indirizzo e non l’ha " +
				"mostrato.",
			IsYou:          "Se quell’utente sei tu, accedi come hai fatto finora:",
			IsYouConfirms:  "Se quell’utente sei tu, accedi come hai fatto finora e l’indirizzo sarà confermato:",
			WithPasskey:    "Accedi con una passkey",
			WithPassword:   "Accedi con una password",
			WithPasswordOf: "Accedi con una password ({provider})",
			OtherWays:      "Altri modi di accedere",
			NotOffered:     "{provider} (non più offerto qui)",
			NotYou: "Se non sei tu, o vuoi ricominciare, continua come nuovo utente. L’altro utente tiene tutto " +
				"tranne l’indirizzo.",
			Afresh: "Ricomincia",
		},
		SignOut: SignOut{
			Title:  "Esci",
			Text:   "Vuoi davvero uscire?",
			Button: "Esci",
		},
		Failure: Failure{
			Title:       "Errore",
			ServerTitle: "Qui qualcosa non va",
			Server:      "Il problema è di questo sito, non di ciò che hai fatto. Riprova più tardi.",
			DeniedTitle: "Accesso negato",
			Denied:      "Non hai il permesso di accedere.",
			StoreTitle:  "Non disponibile",
			Store: "Il sito non può farlo al momento. Nessuno è entrato o uscito per questo. Riprova tra un " +
				"momento.",
			NotFinished: "Accesso non possibile",
			LinkInvalid: "Il link per accedere non è più valido. Forse è già stato usato o è scaduto.",
			Unavailable: "Questo modo di accedere al momento non è raggiungibile, quindi l’accesso non è stato " +
				"completato.",
			NoAddress: "Nessun accesso comincia o finisce a questo indirizzo.",
			TooLate: "Questo accesso non è stato completato. Forse ha impiegato troppo tempo, è già stato " +
				"completato o è cominciato in un altro browser.",
			Again:        "Per accedere, riprova.",
			AgainAsOther: "Per accedere come un’altra persona, riprova.",
		},
		Refused: Refused{
			Title:        "Non possibile",
			TooManyTitle: "Troppi tentativi",
			TooMany:      "Ci sono stati troppi tentativi. Riprova più tardi.",
			Wait: Span{
				Seconds: Plural{
					One:   "Puoi riprovare tra {n} secondo.",
					Other: "Puoi riprovare tra {n} secondi.",
				},
				Minutes: Plural{
					One:   "Puoi riprovare tra {n} minuto.",
					Other: "Puoi riprovare tra {n} minuti.",
				},
				Hours: Plural{
					One:   "Puoi riprovare tra {n} ora.",
					Other: "Puoi riprovare tra {n} ore.",
				},
			},
			ForeignTitle: "Non da questo sito",
			Foreign: "La richiesta non viene da una pagina di questo sito. Torna indietro, ricarica la pagina e " +
				"riprova.",
			Busy:     "Il sito ha molto da fare in questo momento. Riprova presto.",
			TooLarge: "Ciò che è stato inviato è troppo grande. Torna indietro e riprova con meno.",
			CannotSend: "Questo indirizzo si può aprire, ma non gli si può inviare nulla in questo modo. Torna " +
				"indietro e riprova.",
			Impossible: "Con questo indirizzo non si può fare nulla. Torna indietro e riprova.",
		},
		Mail: Mail{
			SignIn: MailedLink{
				Subject: "Accesso a {site}",
				Text:    "Accedi a {site}",
				Button:  "Accedi",
				Ignore:  "Se non hai chiesto questa e-mail, puoi ignorarla.",
			},
			TypeCode: "Oppure scrivi questo codice nel browser in cui hai chiesto l’e-mail:",
			LinkValid: Span{
				Seconds: Plural{
					One:   "Il link è valido per {n} secondo.",
					Other: "Il link è valido per {n} secondi.",
				},
				Minutes: Plural{
					One:   "Il link è valido per {n} minuto.",
					Other: "Il link è valido per {n} minuti.",
				},
				Hours: Plural{
					One:   "Il link è valido per {n} ora.",
					Other: "Il link è valido per {n} ore.",
				},
			},
			BothValid: Span{
				Seconds: Plural{
					One:   "Il link e il codice sono validi per {n} secondo.",
					Other: "Il link e il codice sono validi per {n} secondi.",
				},
				Minutes: Plural{
					One:   "Il link e il codice sono validi per {n} minuto.",
					Other: "Il link e il codice sono validi per {n} minuti.",
				},
				Hours: Plural{
					One:   "Il link e il codice sono validi per {n} ora.",
					Other: "Il link e il codice sono validi per {n} ore.",
				},
			},
			AskedIn:        "L’e-mail è stata chiesta con: {browser}, {system}.",
			UnknownBrowser: "browser sconosciuto",
			UnknownSystem:  "sistema sconosciuto",
			NeverAsk:       "Non chiediamo mai questo codice. Non darlo a nessuno.",
			SignUp: MailedLink{
				Subject: "Il tuo account su {site}",
				Text:    "Apri il link per scegliere la password del tuo nuovo account su {site}.",
				Button:  "Scegli una password",
				Ignore:  "Se non hai chiesto questa e-mail, puoi ignorarla. Nessun account è stato creato.",
			},
			SignUpKnown: MailedLink{
				Subject: "Il tuo account su {site}",
				Text: "Qualcuno, probabilmente tu, ha chiesto un nuovo account su {site} con questo indirizzo. " +
					"Ne hai già uno. Con il link puoi scegliere una nuova password.",
				Button: "Scegli una nuova password",
				Ignore: "Se non hai chiesto questa e-mail, puoi ignorarla. Non è stato cambiato nulla.",
			},
			Reset: MailedLink{
				Subject: "La tua password su {site}",
				Text:    "Apri il link per scegliere una nuova password su {site}.",
				Button:  "Scegli una nuova password",
				Ignore:  "Se non hai chiesto questa e-mail, puoi ignorarla. La tua password resta la stessa.",
			},
			PasswordChanged: Notice{
				Subject: "La tua password su {site} è stata cambiata",
				Text: "La password del tuo account su {site} è stata cambiata. Sei stato disconnesso da ogni " +
					"altro posto.",
				NotYou: "Se non sei stato tu, scegli ora una nuova password su {site}.",
			},
			PasswordRemoved: Notice{
				Subject: "La tua password su {site} è stata rimossa",
				Text: "La password del tuo account su {site} è stata rimossa. Sei stato disconnesso da ogni " +
					"altro posto.",
				NotYou: "Se non sei stato tu, accedi ora a {site} in un altro modo e controlla il tuo account.",
			},
		},
	}
}

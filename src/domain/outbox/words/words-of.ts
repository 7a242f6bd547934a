/** The supported languages. */
import type { Locale } from '../anchor-view.ts'
import { english } from './en.ts'
import { russian } from './ru.ts'
import type { Words } from './words.ts'

const wordsByLocale: Readonly<Record<Locale, Words>> = { en: english, ru: russian }

export const wordsOf = (locale: Locale): Words => wordsByLocale[locale]

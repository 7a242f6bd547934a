/**
 * The kinds of value a setting can have. Each says in words what is allowed, and has one zod
 * schema for text (flags, environment, secret files) and one for the config file, so that a value
 * means the same wherever it comes from. Text arrives trimmed.
 */
import { isIP } from 'node:net'
import { z } from 'zod'

export interface ValueKind<T> {
  readonly allowed: string
  /** All allowed values, if there are only a few. */
  readonly choices?: readonly string[]
  /** False if a value may contain a password. Then no error repeats it. */
  readonly mayShow: boolean
  /** What is wrong with this very text, without the text itself; null if nothing is known. */
  readonly mistake?: (text: string) => string | null
  readonly fromText: z.ZodType<T>
  readonly fromConfig: z.ZodType<T>
}

export type ValueOf<K> = K extends ValueKind<infer T> ? T : never

/** Text may have digits only: no sign, no point, no exponent. */
export function wholeNumber(min: number, max: number): ValueKind<number> {
  const bounded = z.number().int().min(min).max(max)
  return {
    allowed: `a whole number from ${min} to ${max}`,
    mayShow: true,
    fromText: z
      .string()
      .regex(/^[0-9]+$/)
      .transform(Number)
      .pipe(bounded),
    fromConfig: bounded,
  }
}

function textKind<T>(
  allowed: string,
  mayShow: boolean,
  schema: z.ZodType<T, string>,
): ValueKind<T> {
  return {
    allowed,
    mayShow,
    fromText: schema,
    fromConfig: z.string().trim().pipe(schema),
  }
}

const visibleLine = z.string().regex(/^[^\p{Cc}]+$/u)

export function line(allowed: string, pattern = /^.+$/): ValueKind<string> {
  return textKind(allowed, true, visibleLine.regex(pattern))
}

export function choice<const T extends string>(values: readonly T[]): ValueKind<T> {
  const kind = textKind(`one of ${values.join(', ')}`, true, z.enum(values as readonly [T, ...T[]]))
  return { ...kind, choices: values }
}

/** An address with one of the schemes. Trailing slashes are removed, so that paths can follow. */
export function address(schemes: readonly string[], example: string): ValueKind<string> {
  const schema = visibleLine
    .refine((text) => {
      const url = URL.canParse(text) ? new URL(text) : null
      return url !== null && schemes.includes(url.protocol.slice(0, -1)) && url.host !== ''
    })
    .transform((text) => text.replace(/\/+$/, ''))
  return textKind(`an address like ${example}`, false, schema)
}

/**
 * Other addresses are made by adding a path to this one, so it can have no query or fragment. A
 * user and password would be shown wherever the address is shown.
 */
export function webAddress(example: string): ValueKind<string> {
  const base = address(['http', 'https'], example)
  const plain = (text: string): boolean => {
    const { username, password } = new URL(text)
    return !/[?#]/.test(text) && username === '' && password === ''
  }
  return {
    ...base,
    allowed: `${base.allowed}, without user, password, query and fragment`,
    fromText: base.fromText.refine(plain),
    fromConfig: base.fromConfig.refine(plain),
  }
}

export type Database =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** The path stays as it was given; load-settings.ts makes it absolute. */
export function databaseAddress(): ValueKind<Database> {
  const schema = visibleLine.transform((text, context): Database => {
    const path = text.startsWith('sqlite:') ? text.slice('sqlite:'.length) : null
    // After two slashes comes a host. Three slashes are the usual spelling of an absolute path.
    if (path !== null && path !== '' && !/^\/\/(?!\/)/.test(path)) return { kind: 'sqlite', path }
    if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text))
      return { kind: 'postgres', url: text }
    context.issues.push({ code: 'custom', message: 'no database address', input: null })
    return z.NEVER
  })
  const kind = textKind('sqlite:PATH, sqlite::memory: or postgres://USER@HOST/NAME', false, schema)
  const mistake = (text: string): string | null =>
    text.startsWith('sqlite://')
      ? 'A path follows "sqlite:" directly, without "//": sqlite:holdfast.db'
      : null
  return { ...kind, mistake }
}

/** `advice` says what is recommended but not checked here. */
export function secret(advice?: string): ValueKind<string> {
  const allowed = ['one line without blanks', advice].filter(Boolean).join(', ')
  return textKind(allowed, false, z.string().regex(/^[^\s\p{Cc}]+$/u))
}

/** IP addresses and ranges such as `10.0.0.0/8`. */
export function addressList(): ValueKind<readonly string[]> {
  const list = z.array(z.string().trim().refine(isAddressRange))
  const fromText = z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(list)
  const allowed = 'IP addresses or ranges like 10.0.0.0/8, separated by commas'
  return { allowed, mayShow: true, fromText, fromConfig: list }
}

function isAddressRange(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
  )
}

export function secretList(): ValueKind<readonly string[]> {
  const schema = z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(z.string().regex(/^[^\p{Cc}]+$/u)))
  return textKind('one secret, or several separated by commas', false, schema)
}

/** Environment files often have the key on one line, with `\n` for a line break. */
export function privateKey(): ValueKind<string> {
  const schema = z
    .string()
    .transform((text) => text.replaceAll('\\n', '\n'))
    .refine((text) => /^-----BEGIN [A-Z ]*PRIVATE KEY-----\s[\s\S]+-----END /.test(text))
  return textKind('a private key in PEM form', false, schema)
}

/** Host names, separated by commas; a list of them in the config file. */
export function hostList(): ValueKind<readonly string[]> {
  const hosts = z.array(z.string().regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/))
  const split = (text: string): string[] => text.split(',').map((part) => part.trim().toLowerCase())
  return {
    allowed: 'host names, separated by commas',
    mayShow: true,
    fromText: z.string().transform(split).pipe(hosts),
    fromConfig: z.array(z.string().trim().toLowerCase()).pipe(hosts),
  }
}

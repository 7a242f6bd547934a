/**
 * What is known about one setting. Each setting is defined once, in a table of this folder:
 * parsing, help, errors and the reference page are all made from the tables.
 */
import type { ValueKind } from './value-kind.ts'

export type Secrecy = 'no' | 'password' | 'whole'

export interface Option<
  T = unknown,
  D extends string | number | null = string | number | null,
  S extends Secrecy = Secrecy,
> {
  readonly env: string
  readonly kind: ValueKind<T>
  /** Null when there is none. */
  readonly unit: string | null
  readonly default: D
  /** The default in words, when it is not simply its value. */
  readonly defaultText?: string
  /** One line for `--help`. */
  readonly summary: string
  /** What changes with it, or what to know before setting it, in whole sentences. */
  readonly advice: string
  /**
   * `whole`: no flag and no config key, because a command line and a repository are read by many.
   * `password`: an address that may contain one; its password is masked wherever it is shown.
   * Both may be given as a file.
   */
  readonly secret: S
}

/** Checks an entry without losing the exact types of its value, default and secrecy. */
export function option<T, const D extends string | number | null, const S extends Secrecy>(
  entry: Option<T, D, S>,
): Option<T, D, S> {
  return entry
}

/** The flag of a setting, made from its key: `leaseMs` becomes `--lease-ms`. */
export function flagOf(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

export function hasFlag(entry: Option): boolean {
  return entry.secret !== 'whole'
}

export function hasFile(entry: Option): boolean {
  return entry.secret !== 'no'
}

export function describeDefault(entry: Option): string {
  if (entry.defaultText !== undefined) return entry.defaultText
  return entry.default === null ? 'none' : `${entry.default}`
}

/** The longest time that a timer can wait. */
export const timerMsMax = 2_147_483_647
export const dayMs = 86_400_000
/** A server does not start with a shorter admin token or webhook secret. */
export const secretLengthMin = 16

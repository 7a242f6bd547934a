/**
 * Every setting, by group, in the order of the reference page and of `--help`. The key is the name
 * in code and in the config file, and the flag is made from it. A setting that is a secret as a
 * whole has no flag and no config key. A unit is the last word of a name. A new group adds a file
 * in this folder and two lines below.
 */
import type { Option } from './option.ts'
import { accessOptions } from './access.ts'
import { githubOptions } from './github.ts'
import { publishingOptions } from './publishing.ts'
import { queueOptions } from './queue.ts'
import { runsOptions } from './runs.ts'
import { serverOptions } from './server.ts'
import { storageOptions } from './storage.ts'
import type { Database, ValueOf } from './value-kind.ts'

export const options = {
  ...serverOptions,
  ...storageOptions,
  ...queueOptions,
  ...accessOptions,
  ...runsOptions,
  ...publishingOptions,
  ...githubOptions,
} as const

const groups = {
  Server: serverOptions,
  Storage: storageOptions,
  Queue: queueOptions,
  Access: accessOptions,
  Runs: runsOptions,
  Publishing: publishingOptions,
  GitHub: githubOptions,
} as const

export type OptionKey = keyof typeof options

type ValueAt<K extends OptionKey> =
  ValueOf<(typeof options)[K]['kind']> | (typeof options)[K]['default']

export type OptionValues = { readonly [K in OptionKey]: ValueAt<K> }

export type PlainKey = {
  [K in OptionKey]: (typeof options)[K]['secret'] extends 'whole' ? never : K
}[OptionKey]

type ConfigValue<T> = T extends Database ? string : T

/** What the config file may set beside runs, tasks and the like: everything but secrets. */
export type PlainSettings = {
  readonly [K in PlainKey]?: ConfigValue<ValueOf<(typeof options)[K]['kind']>>
}

type OptionEntry = readonly [key: OptionKey, option: Option]

export const optionEntries = Object.entries(options) as readonly OptionEntry[]

export const optionGroups = Object.entries(groups).map(([name, members]) => ({
  name,
  entries: Object.entries(members) as readonly OptionEntry[],
}))

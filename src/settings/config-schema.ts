/**
 * The rules `holdfast.config.ts` is checked by; src/config.ts is the same shape in words. A new
 * part adds a file in schemas/ and its key to the shape below.
 */
import { z } from 'zod'
import type { Config } from '../config.ts'
import { closedObject } from './closed-object.ts'
import { notAvailable } from './not-available.ts'
import { hasFile, type Option } from './option.ts'
import { optionEntries } from './options.ts'
import { channels } from './schemas/channels.ts'
import { wholeNumber } from './schemas/fields.ts'
import { runTypes } from './schemas/run-types.ts'

const days = (min: number) => wholeNumber(min, 36_500).optional()
const retention = closedObject({
  finishedDays: days(1),
  supersededDays: days(1),
  // For three days a delivery can be sent again by hand; forgotten, it would be a new event.
  inboxDays: days(4),
  auditDays: days(1),
})

/** `elsewhere` says where a setting belongs that is not allowed here; null when it is. */
function schemaWith(elsewhere: (key: string, entry: Option) => string | null): z.ZodType<Config> {
  const plainSettings: Record<string, z.ZodType> = {}
  const otherKeys = new Map<string, string>(notAvailable)
  for (const [key, entry] of optionEntries) {
    const place = elsewhere(key, entry)
    if (place !== null) otherKeys.set(key, `sets ${key}, ${place}`)
    // Checked with the other sources of the setting, so that the message is the same everywhere.
    else plainSettings[key] = z.unknown().optional()
  }
  const shape = {
    ...plainSettings,
    runs: runTypes.optional(),
    channels: channels.optional(),
    retention: retention.optional(),
  }
  return closedObject(shape, otherKeys) as z.ZodType as z.ZodType<Config>
}

/** Of the config file. */
export const configSchema = schemaWith((_key, entry) => {
  if (entry.secret !== 'whole') return null
  const file = hasFile(entry) ? ` or ${entry.env}_FILE` : ''
  return `a secret. Set it in the environment instead: ${entry.env}${file}`
})

const credentials = new Set(['githubToken', 'githubAppId', 'githubPrivateKey'])

/** Of a program that embeds us: it reads no environment, and is given credentials by themselves. */
export const argumentSchema = schemaWith((key, entry) => {
  if (credentials.has(key)) return 'which belongs in openHoldfast(config, { github })'
  return entry.secret === 'whole' ? 'which only a server needs. Remove it' : null
})

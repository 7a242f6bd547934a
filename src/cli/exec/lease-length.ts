/**
 * The length of the lease that `exec` asks for. Through a server no other setting is read, so this
 * one is read by itself: from the flag, else from the environment, else the default.
 */
import { readVariable } from '../../settings/environment.ts'
import { options } from '../../settings/options/options.ts'
import { SettingsError } from '../../settings/settings-error.ts'
import type { World } from '../world.ts'

const option = options.leaseMs

export function leaseMsOf(world: Pick<World, 'env' | 'cwd'>, flag: string | undefined): number {
  const answer = readVariable(world.env, option.env, world.cwd, false)
  if ('problem' in answer) throw new SettingsError([answer.problem])
  const text = flag ?? answer.found?.text
  if (text === undefined) return option.default
  const parsed = option.kind.fromText.safeParse(text)
  if (parsed.success) return parsed.data
  const name = flag === undefined ? option.env : '--lease-ms'
  throw new SettingsError([`${name} must be ${option.kind.allowed} (${option.unit})`])
}

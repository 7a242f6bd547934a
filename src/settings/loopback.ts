/** Names and addresses that only ever mean this machine, as a URL or `Host` header has them. */
import { isIPv4 } from 'node:net'

export function isLoopbackName(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '')
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true
  return isIPv4(name) && name.startsWith('127.')
}

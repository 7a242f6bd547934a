import { describe, expect, test } from 'vitest'
import { GrantedLeases } from './granted-leases.ts'
import type { KeptLease } from '../runs/kept-lease.ts'

function lease(fence: number, isFirst = true): KeptLease & { readonly lost: unknown[] } {
  const lost: unknown[] = []
  const lose = (error: unknown): void => void lost.push(error)
  return { runId: 'run_1', fence, isFirst, lost, lose } as unknown as KeptLease & {
    readonly lost: unknown[]
  }
}

const meant = (leases: GrantedLeases) => leases.leaseOf('key', 'key', 'complete()')

describe('of two leases on one key', () => {
  test('the one with the higher fence stays, in whatever order their answers come', () => {
    for (const fences of [
      [1, 2],
      [2, 1],
    ]) {
      const leases = new GrantedLeases()
      const granted = fences.map((fence) => lease(fence))
      for (const each of granted) leases.add('key', each)
      const lost = granted.filter((each) => each.lost.length > 0)
      expect(lost.map(({ fence }) => fence)).toEqual([1])
      expect(() => meant(leases)).toThrow('granted several')
    }
  })
})

describe('work that was let through without a lease', () => {
  test('makes a later lease ambiguous until it is done', () => {
    const leases = new GrantedLeases()
    leases.addUnclaimed('key')
    expect([meant(leases), leases.isUnclaimed('key')]).toEqual([undefined, true])
    const granted = lease(1)
    leases.add('key', granted)
    expect(() => meant(leases)).toThrow('granted several')
    expect([leases.endUnclaimed('key'), leases.endUnclaimed('key')]).toEqual([true, false])
    expect(meant(leases)).toBe(granted)
  })
})

test('a later round counts as ambiguous after many keys were forgotten', () => {
  const leases = new GrantedLeases()
  const [alone, held] = [lease(1, false), lease(2, false)]
  leases.add('key', alone)
  leases.add('held', held)
  expect(meant(leases)).toBe(alone)
  leases.retire('key', alone)
  for (let n = 0; n < 1001; n += 1) leases.addUnclaimed(`other ${n}`)
  expect(leases.leaseOf('held', 'held', 'complete()')).toBe(held)
  leases.add('key', lease(3, false))
  expect(() => meant(leases)).toThrow('granted several')
})

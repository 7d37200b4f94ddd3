// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TestUSD} from "TestUSD.sol";

/// The test dollar gone wrong: an authorization is used, but what it promised does not happen, or not quite.
contract OddUSD is TestUSD {
    enum Oddity { None, NoTransfer, LessThanSigned, ToSomebodyElse, EventWithoutMoney }

    address public constant SOMEBODY_ELSE = 0x00000000000000000000000000000000DeaDBeef;
    Oddity public oddity;

    function setOddity(Oddity to) external {
        oddity = to;
    }

    function _transfer(address from, address to, uint256 value) internal override {
        if (oddity == Oddity.NoTransfer) return;
        if (oddity == Oddity.LessThanSigned) return super._transfer(from, to, value - 1);
        if (oddity == Oddity.ToSomebodyElse) return super._transfer(from, SOMEBODY_ELSE, value);
        if (oddity == Oddity.EventWithoutMoney) {
            emit Transfer(from, to, value);
            return;
        }
        super._transfer(from, to, value);
    }
}
